// SPDX-License-Identifier: MIT
// The verdict over a soak: GPUs that slow, and GPUs behind their siblings.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "accept/soak.hpp"
#include "base/statistics.hpp"
#include "base/units.hpp"
#include "report/report.hpp"

namespace hiptool::accept {
namespace {

constexpr std::size_t slowing_window = 5;  // rates, of which one alone may be a hiccup
constexpr std::size_t least_siblings_with_range = 4;

std::string soak_rate_text(const SoakedLoad& soaked, double per_s) {
  return soaked.counts_operations ? report::format_value(per_s, report::Unit::operations)
                                  : format_rate(per_s);
}

std::vector<double> times_of(std::span<const SoakPoint> points) {
  std::vector<double> times;
  for (const SoakPoint& point : points) times.push_back(1 / point.per_s);
  return times;
}

/// The first rate of those that all stay below `bound`, a few at a time.
double below_since(const std::vector<SoakPoint>& points, double bound) {
  std::size_t since = points.size() - 1;
  while (since > 0) {
    const std::size_t end = std::min(since - 1 + slowing_window, points.size());
    std::vector<double> rates;
    for (std::size_t i = since - 1; i < end; ++i) rates.push_back(points[i].per_s);
    if (base::median(rates) >= bound) break;
    --since;
  }
  while (since + 1 < points.size() && points[since].per_s >= bound) ++since;
  return points[since].at_s;
}

Fault soak_fault(const char* code, const SoakedLoad& soaked, std::string reason, double expected,
                 double got) {
  const machine::CodeInfo* const info = machine::find_code(code);
  return {info->code,   soaked.label, soaked.device, std::move(reason),
          info->advice, std::nullopt, expected,      got};
}

/// Copies share the host, and processors their cores.
bool is_judged(const SoakedLoad& soaked) {
  return soaked.name != "copies" && report::platform_of(soaked.device) != "cpu";
}

void judge_slowing(const SoakedLoad& soaked, double spread, std::vector<RateFault>& faults) {
  const std::optional<Slowing> slowing = find_slowing(soaked.points, spread);
  if (!slowing) return;
  const std::string reason =
      fmt::format("slows after {}: {} in the first third of the time, {} in the last",
                  format_duration(slowing->since_s), soak_rate_text(soaked, slowing->first_per_s),
                  soak_rate_text(soaked, slowing->last_per_s));
  faults.push_back({soaked.device, soak_fault(machine::codes::soak_slows, soaked, reason,
                                              slowing->first_per_s, slowing->last_per_s)});
}

const char* rate_code_of(const SoakedLoad& soaked) {
  if (soaked.name == "memory") return machine::codes::memory_rate;
  return soaked.name == "copies" ? machine::codes::copy_rate : machine::codes::kernel_rate;
}

void judge_expectation(const SoakedLoad& soaked, const std::string& kind,
                       const Expectations& expectations, ExpectationResults& results,
                       std::vector<RateFault>& faults) {
  const auto& of_kind = expectations.of(kind);
  const auto expectation = of_kind.find(soaked.label);
  if (expectation == of_kind.end()) return;
  const report::Measurement measured = measurement_of(soaked);
  if (!is_comparable(expectation->second, measured)) return;
  ++results.judged;
  if (meets(expectation->second, measured)) return;
  const std::string reason = fmt::format("{}, at least {} expected by {}", figure_text(measured),
                                         figure_text(expectation->second), expectations.path);
  Fault fault = soak_fault(rate_code_of(soaked), soaked, reason, 0, 0);
  fault.expected = figure_text(expectation->second);
  fault.got = figure_text(measured);
  faults.push_back({soaked.device, std::move(fault)});
}

/// One GPU among the GPUs of its name.
struct Sibling {
  const SoakedLoad* soaked = nullptr;
  double median = 0;
  double best = 0;
};

void judge_siblings(std::vector<Sibling> group, double spread, std::vector<RateFault>& faults) {
  const std::size_t all = group.size();
  while (group.size() >= least_siblings) {
    const auto slowest = std::min_element(
        group.begin(), group.end(),
        [](const Sibling& left, const Sibling& right) { return left.median < right.median; });
    std::vector<double> others;
    for (auto one = group.begin(); one != group.end(); ++one) {
      if (one != slowest) others.push_back(one->median);
    }
    const double median = base::median(others);
    const bool is_outside = all < least_siblings_with_range ||
                            slowest->median < *std::min_element(others.begin(), others.end());
    if (slowest->median >= (1 - spread) * median || slowest->best >= median || !is_outside) return;
    const SoakedLoad& soaked = *slowest->soaked;
    const std::string reason = fmt::format(
        "{}, {} the median of {} of the other {} GPUs at the same time",
        soak_rate_text(soaked, slowest->median), shortfall_text(1 - slowest->median / median),
        soak_rate_text(soaked, median), others.size());
    faults.push_back({soaked.device, soak_fault(machine::codes::sibling_rate, soaked, reason,
                                                median, slowest->median)});
    group.erase(slowest);
  }
}

}  // namespace

std::optional<Slowing> find_slowing(const std::vector<SoakPoint>& points, double spread) {
  const std::size_t third = points.size() / 3;
  if (third < base::least_compared_samples) return {};
  const std::vector<double> first = times_of(std::span(points).first(third));
  const std::vector<double> last = times_of(std::span(points).last(third));
  const double effect = 1 / (1 - spread) - 1;  // of times
  if (base::compare_times(first, last, {-effect, effect}).verdict != base::Verdict::slower)
    return {};
  const double first_per_s = 1 / base::median(first);
  const double last_per_s = 1 / base::median(last);
  return Slowing{first_per_s, last_per_s, below_since(points, (first_per_s + last_per_s) / 2)};
}

std::vector<RateFault> judge_soak(const std::vector<SoakedLoad>& soaked, const RateRules& rules,
                                  ExpectationResults& results) {
  std::vector<RateFault> faults;
  std::map<std::pair<std::string, std::string>, std::vector<Sibling>> groups;
  for (const SoakedLoad& one : soaked) {
    const auto info = rules.devices.find(one.device);
    if (info == rules.devices.end() || one.points.empty() || one.was_interrupted) continue;
    if (rules.expectations != nullptr) {
      judge_expectation(one, info->second.name, *rules.expectations, results, faults);
    }
    if (!is_judged(one)) continue;
    judge_slowing(one, rules.spread, faults);
    const std::vector<double> rates = one.rates();
    groups[{one.label, info->second.name}].push_back(
        {&one, base::median(rates), base::quantile(rates, 0.95)});
  }
  for (auto& [label, group] : groups) judge_siblings(std::move(group), rules.spread, faults);
  return faults;
}

}  // namespace hiptool::accept
