// SPDX-License-Identifier: MIT
#include "cli/output/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"

namespace hiptool::cli {
namespace {

constexpr auto draw_interval = std::chrono::milliseconds(100);
constexpr std::size_t longest_bar = 30;
constexpr std::size_t shortest_bar = 5;

double seconds_between(Progress::Clock::time_point from, Progress::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string time_left(double seconds) { return whole_time(seconds + 0.5) + " left"; }

// The steps of a load that have no bar.
std::string step_of_phase(std::string_view phase) {
  if (phase == "start") return "starting the devices";
  if (phase == "allocate") return "allocating device memory";
  if (phase == "self-test") return "self-test of the verification";
  if (phase == "digest") return "computing digests on the devices";
  if (phase == "probe") return "measuring the link";
  if (phase == "values") return "checking values";
  return std::string(phase);
}

std::string repeated(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

}  // namespace

std::string progress_bar(const std::string& step, std::uint64_t done_bytes,
                         std::uint64_t total_bytes, double elapsed_s, std::size_t width,
                         bool unicode) {
  const double total = static_cast<double>(std::max<std::uint64_t>(total_bytes, 1));
  const double share = std::min(static_cast<double>(done_bytes) / total, 1.0);
  const double rate = elapsed_s > 0 ? static_cast<double>(done_bytes) / elapsed_s : 0;
  std::string tail = fmt::format("{:>5}  {}", format_share(share), format_size(done_bytes));
  if (rate > 0) {
    const double left_s = static_cast<double>(total_bytes) * (1 - share) / rate;
    tail += fmt::format("  {}  {}", format_rate(rate), time_left(left_s));
  }
  const std::size_t frame = step.size() + tail.size() + 6;  // blanks and brackets
  if (frame + shortest_bar > width) {
    const std::string text = step + " " + tail;
    return text.substr(0, width);
  }
  const std::size_t cells = std::min(width - frame, longest_bar);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
  return fmt::format("{}  [{}{}]  {}", step, repeated(unicode ? "█" : "#", full),
                     repeated(unicode ? "░" : "-", cells - full), tail);
}

Progress::Progress(Console& console, bool quiet, std::function<Clock::time_point()> now,
                   std::string prefix)
    : console_(console), is_quiet_(quiet), now_(std::move(now)), prefix_(std::move(prefix)) {}

Progress::~Progress() {
  const std::lock_guard lock(mutex_);
  clear();
}

void Progress::begin(const std::string& step) {
  const std::lock_guard lock(mutex_);
  clear();
  step_ = prefix_ + step;
  started_ = now_();
  drawn_ = started_;  // no bar for work shorter than the interval
  done_bytes_ = 0;
  total_bytes_ = 0;
  show(step_);
}

void Progress::show(const std::string& name) {
  shown_ = name;
  waiting_.clear();
  console_.set_step(shown_);
}

void Progress::show_detail() {
  std::string detail;
  if (!step_.empty() && done_bytes_ > 0) {
    const double total = static_cast<double>(std::max<std::uint64_t>(total_bytes_, 1));
    detail = format_share(static_cast<double>(done_bytes_) / total);
  }
  if (!detail.empty() && !waiting_.empty()) detail += ", ";
  console_.set_step(shown_, detail + waiting_);
}

void Progress::on_phase(std::string_view name) noexcept {
  if (name == "load" || name == "verify") return begin(std::string(name));
  if (name == "sha256") return begin("hash");
  const std::lock_guard lock(mutex_);
  show(prefix_ + step_of_phase(name));
}

void Progress::on_waiting(std::span<const std::string> devices) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    waiting_ = devices.empty() ? std::string()
                               : "waiting for " + base::ranges_of({devices.begin(), devices.end()});
    show_detail();
  } catch (const std::exception&) {
    // A text that cannot be shown must not stop the work.
  }
}

void Progress::on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (step_.empty()) return;
  // Threads may report out of order.
  done_bytes_ = std::max(done_bytes_, done_bytes);
  total_bytes_ = std::max(total_bytes_, total_bytes);
  try {
    const auto now = now_();
    if (now - drawn_ < draw_interval) return;
    drawn_ = now;
    show_detail();
    draw();
  } catch (const std::exception&) {
    // A bar that cannot be drawn must not stop the work.
  }
}

void Progress::end() {
  const std::lock_guard lock(mutex_);
  clear();
  show({});
  if (step_.empty()) return;
  if (!is_quiet_ && !console_.can_animate()) {
    console_.err(finished_line() + "\n");
  }
  step_.clear();
}

std::string Progress::finished_line() const {
  const double elapsed_s = seconds_between(started_, now_());
  // The step is complete even if the last update was skipped.
  const std::uint64_t bytes = std::max(done_bytes_, total_bytes_);
  if (bytes == 0) return fmt::format("{}: done in {}", step_, format_duration(elapsed_s));
  std::string line =
      fmt::format("{}: {} in {}", step_, format_size(bytes), format_duration(elapsed_s));
  if (elapsed_s > 0) line += ", " + format_rate(static_cast<double>(bytes) / elapsed_s);
  return line;
}

void Progress::draw() {
  if (is_quiet_ || !console_.can_animate()) return;
  // Some terminals wrap a line that fills all columns.
  const std::size_t width = std::max<std::size_t>(console_.width_err(), 2) - 1;
  console_.err("\r\x1b[K" + progress_bar(step_, done_bytes_, total_bytes_,
                                         seconds_between(started_, drawn_), width,
                                         console_.has_unicode()));
  is_drawn_ = true;
}

void Progress::clear() {
  if (is_drawn_) console_.err("\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace hiptool::cli
