// SPDX-License-Identifier: MIT
#include "report/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "hiptool/error.hpp"

namespace hiptool::report {
namespace {

Error compare_error(ErrorCode code, std::string message, std::string hint) {
  return Error(code, "report compare", std::move(message), std::move(hint));
}

using ById = std::unordered_map<std::string_view, const Measurement*>;

ById by_id(const std::vector<Measurement>& list) {
  ById places;
  for (const Measurement& one : list) places.emplace(one.id, &one);
  return places;
}

// Kinds of the differences that make times incomparable, by device; those of an unknown device, or
// of all, under an empty id.
class Incomparable {
 public:
  explicit Incomparable(const std::vector<SetupDifference>& differences) {
    for (const SetupDifference& one : differences) {
      if (one.kind != SetupDifference::Kind::software) kinds_[one.device].insert(one.kind);
    }
  }

  /// "clocks, link differ in the context"; empty where nothing concerns the measurement.
  std::string reason(const Measurement& measured) const {
    std::set<SetupDifference::Kind> kinds = kinds_of("");
    for (const std::string& device : measured.devices) kinds.merge(kinds_of(device));
    std::vector<std::string_view> names;
    for (const auto kind : kinds) names.push_back(to_string(kind));
    return names.empty() ? "" : fmt::format("{} differ in the context", fmt::join(names, ", "));
  }

 private:
  std::set<SetupDifference::Kind> kinds_of(const std::string& device) const {
    const auto found = kinds_.find(device);
    return found == kinds_.end() ? std::set<SetupDifference::Kind>() : found->second;
  }

  std::unordered_map<std::string, std::set<SetupDifference::Kind>> kinds_;
};

// What makes a verdict impossible before the samples are looked at.
std::string obstacle(const ComparedMeasurement& cell, const Incomparable& incomparable) {
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
  return incomparable.reason(*cell.before);
}

ComparedMeasurement compare_cell(const Measurement& before, const Measurement& after, double effect,
                                 const Incomparable& incomparable) {
  ComparedMeasurement cell{&before, &after, {}, {}};
  cell.comparison = base::compare_times(before.samples_s, after.samples_s, effect);
  cell.reason = obstacle(cell, incomparable);
  if (!cell.reason.empty()) {
    cell.comparison.verdict = base::Verdict::ambiguous;
  } else if (cell.comparison.verdict == base::Verdict::ambiguous) {
    const auto [low, high] = cell.comparison.interval;
    cell.reason =
        fmt::format("the time changed by {} to {}, which straddles the effect of {}",
                    signed_share(low), signed_share(high), format_value(effect, Unit::share));
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

std::string_view to_string(base::Verdict verdict) noexcept {
  switch (verdict) {
    case base::Verdict::same: return "SAME";
    case base::Verdict::faster: return "FASTER";
    case base::Verdict::slower: return "SLOWER";
    case base::Verdict::ambiguous: break;
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
  result.differences = setup_differences(before.head, after.head);
  const Incomparable incomparable(result.differences);
  const ById new_cells = by_id(after.measured);
  for (const Measurement& old_cell : before.measured) {
    const auto new_cell = new_cells.find(old_cell.id);
    if (new_cell == new_cells.end()) {
      result.only_old.push_back(old_cell.id);
    } else {
      result.compared.push_back(compare_cell(old_cell, *new_cell->second, effect, incomparable));
    }
  }
  const ById old_cells = by_id(before.measured);
  for (const Measurement& new_cell : after.measured) {
    if (old_cells.count(new_cell.id) == 0) result.only_new.push_back(new_cell.id);
  }
  const auto says_something = [](const ComparedMeasurement& cell) {
    const bool is_measured = !cell.before->samples_s.empty() && !cell.after->samples_s.empty();
    return is_measured || has_failed(*cell.after);
  };
  if (std::none_of(result.compared.begin(), result.compared.end(), says_something))
    result.compared.clear();
  return result;
}

}  // namespace hiptool::report
