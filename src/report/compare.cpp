// SPDX-License-Identifier: MIT
#include "report/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "base/process_times.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "report/spread.hpp"

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
std::string obstacle(const Measurement& before, const Measurement& after,
                     const Incomparable& incomparable) {
  for (const auto& [side, name] : {std::pair(&before, "old"), std::pair(&after, "new")}) {
    if (side->status != Status::ok) {
      const std::string_view status = to_string(side->status);
      return fmt::format("{} is {}{}{}", name, status.empty() ? "without status" : status,
                         side->reason.empty() ? "" : ": ", side->reason);
    }
    if (side->has_bad_sample) return fmt::format("{} has a sample that is not a time", name);
    if (side->samples_s.size() < base::least_compared_samples) {
      return fmt::format("{} has {}, fewer than {}", name,
                         base::plain_count_of(side->samples_s.size(), "sample"),
                         base::least_compared_samples);
    }
  }
  return incomparable.reason(before);
}

Comparison::Side side_of(const Measurement& one) {
  return {one.median_s, one.bytes_per_s, one.samples_s.size(), one.status,
          std::max<std::size_t>(process_medians(one).size(), 1)};  // some may have no samples
}

// Changes of the time that mean nothing: `effect` either way, or of a short call what run_spread()
// says of its rate: half of it is twice the time.
base::Interval ignored_changes(const Measurement& before, const Measurement& after, double effect) {
  const double spread = std::max(run_spread(before, 0), run_spread(after, 0));
  return {-std::max(effect, spread), std::max(effect, spread / (1 - spread))};
}

// "; 14 repeats on each side would decide".
std::string remedy_text(const Comparison& compared) {
  if (!compared.decidable_effect) {
    return "; measure both with --repeat to know the noise between processes";
  }
  if (!compared.repeats_to_decide) {
    return fmt::format("; more than {} repeats would be needed", base::most_repeats);
  }
  return fmt::format("; {} repeats on each side would decide", *compared.repeats_to_decide);
}

// Times and verdict, as far as the samples decide them.
void compare_samples(const Measurement& before, const Measurement& after,
                     std::optional<double> effect, base::ProcessOrder order, Comparison& result) {
  const double usual = effect.value_or(base::least_effect);
  result.ignored = {-usual, usual};
  const std::size_t most = std::max(result.before.processes, result.after.processes);
  if (most < 2) {
    result.ignored = ignored_changes(before, after, usual);
    result.times = base::compare_times(before.samples_s, after.samples_s, result.ignored);
    if (effect) return;
  } else {
    const auto ignored = effect ? std::optional(result.ignored) : std::nullopt;
    const base::ProcessComparison compared =
        base::compare_processes(process_medians(before), process_medians(after), ignored, order);
    result.times = compared.times;
    result.ignored = compared.ignored;
    result.decidable_effect = compared.decidable_effect;
    result.repeats_to_decide = compared.repeats_to_decide;
    if (effect || most >= least_processes) return;
  }
  result.times.verdict = base::Verdict::ambiguous;
  result.reason = fmt::format(
      "{} and {} processes in the old and the new run, too few for --effect auto: the noise "
      "between processes is not known; measure with --repeat {} or more",
      result.before.processes, result.after.processes, least_processes);
}

// The new measurement as if it had done the work of the old one: kernels of multiply-adds choose by
// the clock how much a sample computes.
Measurement of_same_work(const Measurement& before, Measurement after) {
  const bool has_work =
      before.flops_per_s && after.flops_per_s && before.median_s && after.median_s;
  if (!has_work) return after;
  const double work = *before.flops_per_s * *before.median_s;
  const double own = *after.flops_per_s * *after.median_s;
  if (!(work > 0) || !(own > 0)) return after;
  const double scale = work / own;
  *after.median_s *= scale;
  for (double& sample : after.samples_s) sample *= scale;
  return after;
}

Comparison compare(const Measurement& before, const Measurement& measured,
                   std::optional<double> effect, base::ProcessOrder order,
                   const Incomparable& incomparable) {
  const Measurement after = of_same_work(before, measured);
  Comparison result{before.id, {}, {}, side_of(before), side_of(after), {}};
  const bool is_measured = !before.samples_s.empty() && !after.samples_s.empty();
  if (is_measured) {
    compare_samples(before, after, effect, order, result);
  } else {
    result.times = base::compare_times(before.samples_s, after.samples_s);
    result.ignored.high = effect.value_or(base::least_effect);
  }
  std::string blocked = obstacle(before, after, incomparable);
  if (!blocked.empty()) result.reason = std::move(blocked);
  if (before.bytes_per_s && after.bytes_per_s && *before.bytes_per_s > 0) {
    result.rate_change = *after.bytes_per_s / *before.bytes_per_s - 1;
  }
  if (!result.reason.empty()) {
    result.times.verdict = base::Verdict::ambiguous;
  } else if (result.times.verdict == base::Verdict::ambiguous) {
    const auto [low, high] = result.times.interval;
    const double edge = high > result.ignored.high ? result.ignored.high : -result.ignored.low;
    result.reason = fmt::format("the time changed by {}, which straddles the effect of {}{}",
                                base::range_of(signed_share(low), signed_share(high)),
                                effect_text(edge), remedy_text(result));
  }
  return result;
}

// "2 devices (nvidia:6-7)".
std::string counted_ranges(const std::vector<std::string>& ids) {
  return base::count_of(ids.size(), "device") + " (" + base::ranges_of(ids) + ")";
}

void check_comparable(const RunFile& before, const RunFile& after) {
  const std::string& command = before.run.command;
  if (command != after.run.command) {
    throw compare_error(
        ErrorCode::invalid_argument,
        fmt::format("{} is of {}, {} of {}", before.path, command, after.path, after.run.command),
        "compare two documents of the same command");
  }
  if (command != "bench-copy" && command != "run-kernel" && command != "check") {
    throw compare_error(ErrorCode::unsupported,
                        fmt::format("documents of {} hold no samples to compare", command),
                        "compare documents of bench-copy, run-kernel or check");
  }
}

}  // namespace

std::size_t RunComparison::count(base::Verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(comparisons.begin(), comparisons.end(),
                    [verdict](const Comparison& one) { return one.times.verdict == verdict; }));
}

std::optional<base::Verdict> RunComparison::verdict() const {
  if (comparisons.empty()) return std::nullopt;
  for (const auto verdict :
       {base::Verdict::slower, base::Verdict::ambiguous, base::Verdict::faster}) {
    if (count(verdict) > 0) return verdict;
  }
  return base::Verdict::same;
}

bool RunComparison::is_missing(const std::string& id) const {
  return std::ranges::count(missing_in_old, id) + std::ranges::count(missing_in_new, id) > 0;
}

bool RunComparison::is_judged(const Comparison& compared) const {
  const bool is_measured = compared.before.samples > 0 || compared.after.samples > 0;
  return is_measured && !(is_strict_baseline && is_missing(compared.id));
}

bool RunComparison::fails_as_ambiguous(const Comparison& compared) const {
  return is_strict && is_judged(compared) && compared.times.verdict == base::Verdict::ambiguous &&
         !compared.after_failed();
}

std::vector<Failure> RunComparison::failures() const {
  if (comparisons.empty())
    return {{"measurements in both documents", "at least 1", 0, FailureKind::no_common}};
  std::vector<Failure> list;
  for (const Comparison& one : comparisons) {
    if (one.after_failed()) {
      list.push_back({one.id,
                      "ok",
                      to_string(one.after.status),
                      FailureKind::comparison,
                      {.measurement = one.id}});
    }
    if (fails_as_ambiguous(one)) list.push_back(ambiguous_failure(one));
    if (one.times.verdict != base::Verdict::slower) continue;
    list.push_back(
        {one.id,
         fmt::format("{} within {}", one.shown(one.before), effect_text(one.ignored.high)),
         fmt::format("{}, {}", one.shown(one.after), one.change_text()),
         FailureKind::comparison,
         {.measurement = one.id}});
  }
  if (!is_strict_baseline) return list;
  for (const auto& [ids, got] : {std::pair(&missing_in_old, "only in the new one"),
                                 std::pair(&missing_in_new, "only in the old one")}) {
    for (const std::string& id : *ids) {
      list.push_back(
          {id, "measured in both runs", got, FailureKind::comparison, {.measurement = id}});
    }
  }
  return list;
}

std::vector<Line> headlines(const RunComparison& comparison) {
  const auto verdict = comparison.verdict();
  if (!verdict) return {};
  const auto& list = comparison.comparisons;
  const auto count_of_status = [&list](Status status) {
    return std::ranges::count(list, status, [](const Comparison& one) { return one.after.status; });
  };
  const std::string of_all = base::count_of(list.size(), "measurement");
  const bool is_bad = *verdict == base::Verdict::slower ||
                      std::ranges::any_of(list, [&comparison](const Comparison& one) {
                        return comparison.fails_as_ambiguous(one);
                      });
  const bool is_ambiguous = *verdict == base::Verdict::ambiguous;
  Line line{is_bad         ? Tone::bad
            : is_ambiguous ? Tone::warning
                           : Tone::good,
            fmt::format("{}: {}", to_string(*verdict), counts_text(list)), is_bad};
  const std::size_t missing = comparison.missing_in_old.size() + comparison.missing_in_new.size();
  std::string worse;
  if (const auto wrong = count_of_status(Status::mismatch); wrong > 0) {
    worse = fmt::format("WRONG DATA in {} of {} in the new run", wrong, of_all);
  } else if (const auto failed = count_of_status(Status::failed); failed > 0) {
    worse = fmt::format("FAILED: {} of {} failed in the new run", failed, of_all);
  } else if (!is_bad && comparison.is_strict_baseline && missing > 0) {
    worse =
        fmt::format("FAILED: only one of the runs has {}", base::count_of(missing, "measurement"));
  }
  if (worse.empty()) return {std::move(line)};
  line.tone = Tone::plain;
  return {failure_line(std::move(worse)), std::move(line)};
}

Array missing_value(const RunComparison& comparison) {
  Array values;
  for (const auto& [ids, side] : {std::pair(&comparison.missing_in_old, "baseline"),
                                  std::pair(&comparison.missing_in_new, "run")}) {
    for (const std::string& id : *ids) {
      values.emplace_back(Object{{"id", id}, {"missing_in", side}});
    }
  }
  return values;
}

std::string counts_text(const std::vector<Comparison>& comparisons) {
  const std::string of_all =
      fmt::format(" of {}", base::count_of(comparisons.size(), "measurement"));
  std::string counts;
  for (const auto& [one, word] :
       {std::pair(base::Verdict::slower, "slower"),
        std::pair(base::Verdict::ambiguous, "ambiguous"),
        std::pair(base::Verdict::faster, "faster"), std::pair(base::Verdict::same, "the same")}) {
    const auto number = std::ranges::count(
        comparisons, one, [](const Comparison& compared) { return compared.times.verdict; });
    if (number == 0) continue;
    counts += counts.empty() ? fmt::format("{}{} {}", number, of_all, word)
                             : fmt::format(", {} {}", number, word);
  }
  return counts;
}

Table comparisons_table(const std::vector<Comparison>& comparisons) {
  Table table{"",
              {{"id", "Measurement", Unit::none},
               {"verdict", "Verdict", Unit::none},
               {"old", "Old", Unit::none},
               {"new", "New", Unit::none},
               {"change", "Change", Unit::none}},
              {}};
  for (const Comparison& one : comparisons) {
    table.rows.push_back({one.id, to_string(one.times.verdict), one.shown(one.before),
                          one.shown(one.after), one.change_text()});
  }
  return table;
}

std::string machine_text(const RunFile& file) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [id, device] : file.devices) ++counts[device.name.empty() ? id : device.name];
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    parts.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  }
  std::string text = file.run.host.name.empty() ? "unknown host" : file.run.host.name;
  if (!parts.empty()) text += fmt::format(", {}", fmt::join(parts, ", "));
  if (!file.run.started_at.empty()) text += ", " + file.run.started_at;
  return text;
}

std::vector<std::string> machine_differences(const RunFile& before, const RunFile& after) {
  std::vector<std::string> lines;
  const std::string& old_host = before.run.host.name;
  const std::string& new_host = after.run.host.name;
  if (!old_host.empty() && !new_host.empty() && old_host != new_host) {
    lines.push_back(fmt::format("the hosts differ: {} and {}", old_host, new_host));
  }
  std::vector<std::string> missing;
  std::vector<std::string> added;
  std::vector<std::string> exchanged;
  for (const auto& [id, old_one] : before.devices) {
    const auto found = after.devices.find(id);
    if (found == after.devices.end()) {
      missing.push_back(id);
      continue;
    }
    const DeviceTexts& new_one = found->second;
    const bool has_names = !old_one.name.empty() && !new_one.name.empty();
    if (has_names && old_one.name != new_one.name) {
      lines.push_back(
          fmt::format("the devices differ: {} was {}, is {}", id, old_one.name, new_one.name));
    } else if (!old_one.uuid.empty() && !new_one.uuid.empty() && old_one.uuid != new_one.uuid) {
      exchanged.push_back(id);
    }
  }
  for (const auto& [id, device] : after.devices) {
    if (before.devices.count(id) == 0) added.push_back(id);
  }
  if (!exchanged.empty()) {
    lines.push_back("the devices differ: other serial numbers (uuid) of the same model: " +
                    base::ranges_of(exchanged));
  }
  if (!missing.empty()) lines.push_back("only in the old document: " + counted_ranges(missing));
  if (!added.empty()) lines.push_back("only in the new document: " + counted_ranges(added));
  return lines;
}

std::vector<Line> warning_lines(const RunFile& before, const RunFile& after) {
  std::vector<Line> lines;
  for (const auto& [side, name] : {std::pair(&before, "old"), std::pair(&after, "new")}) {
    if (side->run.passed) continue;
    lines.push_back(
        {Tone::warning, fmt::format("the {} run did not pass: {}", name, exit_text(side->run))});
  }
  for (const std::string& difference : machine_differences(before, after)) {
    lines.push_back({Tone::warning, difference});
  }
  return lines;
}

double usual_effect(const RunFile& run) {
  return run.run.command == "check" ? steady_spread : base::least_effect;
}

Failure ambiguous_failure(const Comparison& compared) {
  Failure failure{compared.id, "a verdict", "AMBIGUOUS", FailureKind::comparison};
  failure.subject.measurement = compared.id;
  failure.reason = compared.reason;
  return failure;
}

std::string decidable_text(const std::vector<Comparison>& comparisons) {
  const Comparison* least = nullptr;
  const Comparison* most = nullptr;
  for (const Comparison& one : comparisons) {
    if (!one.decidable_effect) continue;
    if (least == nullptr || *one.decidable_effect < *least->decidable_effect) least = &one;
    if (most == nullptr || *one.decidable_effect > *most->decidable_effect) most = &one;
  }
  if (least == nullptr) return {};
  const auto text = [](const Comparison& one) {
    return fmt::format("{} ({})", effect_text(*one.decidable_effect), one.id);
  };
  const std::string start = "smallest effect that the noise can decide: " + text(*least);
  return least == most ? start : start + " to " + text(*most);
}

RunComparison compare_runs(const RunFile& before, const RunFile& after,
                           std::optional<double> effect, base::ProcessOrder order) {
  check_comparable(before, after);
  RunComparison result;
  result.effect = effect;
  result.differences = setup_differences(before.setup, after.setup);
  const Incomparable incomparable(result.differences);
  const ById in_new = by_id(after.measurements);
  bool has_result = false;
  for (const Measurement& old_one : before.measurements) {
    const auto found = in_new.find(old_one.id);
    const Measurement* const new_one = found == in_new.end() ? nullptr : found->second;
    const bool is_in_new = new_one != nullptr && (new_one->was_measured() || new_one->has_failed());
    if (old_one.was_measured() && !is_in_new) result.missing_in_new.push_back(old_one.id);
    if (new_one == nullptr) {
      result.only_old.push_back(old_one.id);
      continue;
    }
    result.comparisons.push_back(compare(old_one, *new_one, effect, order, incomparable));
    const bool is_in_both = old_one.was_measured() && is_in_new;
    has_result = has_result || is_in_both || new_one->has_failed();
  }
  const ById in_old = by_id(before.measurements);
  for (const Measurement& new_one : after.measurements) {
    const auto found = in_old.find(new_one.id);
    const bool is_absent = found == in_old.end();
    if (is_absent) result.only_new.push_back(new_one.id);
    if (new_one.was_measured() && (is_absent || !found->second->was_measured())) {
      result.missing_in_old.push_back(new_one.id);
    }
  }
  if (!has_result) result.comparisons.clear();
  return result;
}

}  // namespace hiptool::report
