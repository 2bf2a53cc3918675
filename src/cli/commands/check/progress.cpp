// SPDX-License-Identifier: MIT
#include "cli/commands/check/progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "report/text.hpp"
#include "results/check/report.hpp"

namespace hiptool::cli {
namespace {

constexpr std::size_t most_rows = 16;  // of a terminal of 24 lines; more devices share lines

}  // namespace

CheckProgress::CheckProgress(Console& console, bool quiet, const CancelToken& cancel)
    : console_(console), is_quiet_(quiet), cancel_(cancel) {}

CheckProgress::~CheckProgress() { clear(); }

bool CheckProgress::can_draw() const {
  return !is_quiet_ && console_.can_animate() && !cancel_.is_cancelled();
}

std::string CheckProgress::Row::text(std::size_t stages) const {
  std::string text = fmt::format("{} of {} passed", passed, base::count_of(stages, "stage"));
  if (!failed.empty()) text += fmt::format(", FAILED: {}", fmt::join(failed, ", "));
  if (now.empty()) return text;
  return text + "; now " + now + (step.empty() ? "" : ": " + step);
}

void CheckProgress::begin(const std::vector<std::string>& devices,
                          std::vector<std::string> stages) {
  stages_ = std::move(stages);
  for (const std::string& device : devices) {
    rows_.push_back({device, 0, {}, stages_.empty() ? "" : stages_.front(), {}});
  }
  draw();
}

void CheckProgress::on_stage(const accept::StageResult& stage) {
  if (!is_quiet_ && !console_.can_animate()) {
    console_.err(report::printable_lines(results::describe_stage(stage)) + "\n");
  }
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&stage](const Row& one) { return one.device == stage.device; });
  if (row == rows_.end()) return;
  if (stage.status == accept::StageStatus::passed) ++row->passed;
  if (stage.status == accept::StageStatus::failed) row->failed.push_back(stage.stage);
  const auto place = std::find(stages_.begin(), stages_.end(), stage.stage);
  const bool is_last = place == stages_.end() || std::next(place) == stages_.end();
  row->now = is_last ? "" : *std::next(place);
  row->step.clear();
  draw();
}

void CheckProgress::on_progress(const accept::StageProgress& progress) {
  if (is_quiet_ || progress.steps.empty()) return;
  console_.postpone_beat();
  if (console_.can_animate()) {
    for (Row& row : rows_) {
      for (const auto& [device, step] : progress.steps) {
        if (!device.empty() && device != row.device) continue;
        row.now = progress.stage;
        row.step = step;
      }
    }
    return draw();
  }
  if (progress.stage != told_stage_) told_minutes_ = 0;
  told_stage_ = progress.stage;
  const double minutes = std::floor(progress.elapsed_s / 60);
  if (minutes <= told_minutes_) return;
  told_minutes_ = minutes;
  std::string line = fmt::format("{}, {:.0f} min", progress.stage, minutes);
  const char* separator = ": ";
  for (const auto& [device, step] : progress.steps) {
    line += separator + (device.empty() ? step : device + " " + step);
    separator = "; ";
  }
  console_.err(report::printable_lines(line) + "\n");
}

void CheckProgress::draw() {
  if (!can_draw()) return;
  std::vector<std::pair<std::vector<std::string>, std::string>> lines;
  for (const Row& row : rows_) {
    const std::string text = row.text(stages_.size());
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
      return rows_.size() > most_rows && line.second == text;
    });
    if (same == lines.end()) {
      lines.push_back({{row.device}, text});
    } else {
      same->first.push_back(row.device);
    }
  }
  std::size_t longest = 0;
  for (const auto& [devices, text] : lines) {
    longest = std::max(longest, base::ranges_of(devices).size());
  }
  // A line that fills all columns would take two on some terminals.
  const std::size_t width = std::max<std::size_t>(console_.width_err(), 2) - 1;
  clear();
  std::string all;
  for (const auto& [devices, text] : lines) {
    const std::string line = fmt::format("{:<{}}  {}", base::ranges_of(devices), longest, text);
    all += report::shorten(report::printable(line), width) + "\n";
  }
  console_.err(all);
  drawn_lines_ = lines.size();
}

void CheckProgress::clear() {
  if (drawn_lines_ > 0 && can_draw()) console_.err(fmt::format("\x1b[{}A\r\x1b[J", drawn_lines_));
  drawn_lines_ = 0;
}

}  // namespace hiptool::cli
