// SPDX-License-Identifier: MIT
#include "cli/commands/report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

using base::Verdict;
using report::ContextDifference;
using report::Measurement;
using report::signed_share;
using report::Unit;

Error compare_error(ErrorCode code, std::string message, std::string hint) {
  return Error(code, "report compare", std::move(message), std::move(hint));
}

const Measurement* find(const std::vector<Measurement>& list, const std::string& id) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Measurement& one) { return one.id == id; });
  return found == list.end() ? nullptr : &*found;
}

bool concerns(const ContextDifference& difference, const Measurement& measured) {
  if (difference.kind == ContextDifference::Kind::software) return false;
  const auto& devices = measured.devices;
  return difference.device.empty() ||
         std::find(devices.begin(), devices.end(), difference.device) != devices.end();
}

std::string difference_reason(const std::vector<ContextDifference>& differences,
                              const Measurement& measured) {
  std::vector<std::string> kinds;
  for (const ContextDifference& difference : differences) {
    if (!concerns(difference, measured)) continue;
    const std::string kind(report::to_string(difference.kind));
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds.empty() ? "" : fmt::format("{} differ in the context", fmt::join(kinds, ", "));
}

// What makes a verdict impossible before the samples are looked at.
std::string obstacle(const ComparedCell& cell, const std::vector<ContextDifference>& differences) {
  for (const auto& [side, name] : {std::pair(cell.before, "old"), std::pair(cell.after, "new")}) {
    if (side->status != "ok") {
      const std::string why = side->reason.empty() ? "" : ": " + side->reason;
      return fmt::format("{} is {}{}", name, side->status.empty() ? "without status" : side->status,
                         why);
    }
    if (side->has_bad_sample) return fmt::format("{} has a sample that is no time", name);
    if (side->samples_s.size() < base::least_compared_samples) {
      return fmt::format("{} has {} samples, fewer than {}", name, side->samples_s.size(),
                         base::least_compared_samples);
    }
  }
  return difference_reason(differences, *cell.before);
}

ComparedCell compare_cell(const Measurement& before, const Measurement& after,
                          const ReportComparison& all) {
  ComparedCell cell{&before, &after, {}, {}};
  cell.comparison = base::compare_times(before.samples_s, after.samples_s, all.effect);
  cell.reason = obstacle(cell, all.differences);
  if (!cell.reason.empty()) {
    cell.comparison.verdict = Verdict::ambiguous;
  } else if (cell.comparison.verdict == Verdict::ambiguous) {
    const auto [low, high] = cell.comparison.interval;
    cell.reason = fmt::format("the time changed by {} to {}, which straddles the effect of {}",
                              signed_share(low), signed_share(high),
                              report::format_value(all.effect, Unit::share));
  }
  return cell;
}

void check_comparable(const ReportFile& before, const ReportFile& after) {
  if (before.kind.name != after.kind.name) {
    throw compare_error(ErrorCode::invalid_argument,
                        fmt::format("{} is of {}, {} of {}", before.path, before.kind.name,
                                    after.path, after.kind.name),
                        "compare two documents of the same command");
  }
  if (before.kind.name != "bench-copy" && before.kind.name != "run-kernel") {
    throw compare_error(ErrorCode::unsupported,
                        fmt::format("documents of {} hold no samples to compare", before.kind.name),
                        "compare documents of bench-copy or run-kernel");
  }
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::same: return "SAME";
    case Verdict::faster: return "FASTER";
    case Verdict::slower: return "SLOWER";
    case Verdict::ambiguous: break;
  }
  return "AMBIGUOUS";
}

bool has_failed(const Measurement& measured) {
  return measured.status == "failed" || measured.status == "mismatch";
}

ReportComparison compare_reports(const ReportFile& before, const ReportFile& after, double effect) {
  check_comparable(before, after);
  ReportComparison result;
  result.effect = effect;
  result.differences = report::context_differences(before.document, after.document);
  for (const Measurement& old_cell : before.measured) {
    const Measurement* new_cell = find(after.measured, old_cell.id);
    if (new_cell == nullptr) {
      result.only_old.push_back(old_cell.id);
    } else {
      result.cells.push_back(compare_cell(old_cell, *new_cell, result));
    }
  }
  for (const Measurement& new_cell : after.measured) {
    if (find(before.measured, new_cell.id) == nullptr) result.only_new.push_back(new_cell.id);
  }
  const auto says_something = [](const ComparedCell& cell) {
    const bool is_measured = !cell.before->samples_s.empty() && !cell.after->samples_s.empty();
    return is_measured || has_failed(*cell.after);
  };
  if (std::none_of(result.cells.begin(), result.cells.end(), says_something)) result.cells.clear();
  return result;
}

}  // namespace hiptool::cli
