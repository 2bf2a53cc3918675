// SPDX-License-Identifier: MIT
#include "accept/rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "base/statistics.hpp"
#include "base/units.hpp"

namespace hiptool::accept {
namespace {

constexpr std::uint64_t least_limit_bytes = 16u << 20;  // less is governed by latency
constexpr const char* slow_action =
    "see link, clocks and other programs with `hiptool devices --doctor`; compare with "
    "`hiptool bench-copy` and `hiptool run-kernel`; cool, reseat or replace the device";

/// Why a measurement is too slow.
struct TooSlow {
  std::string code;
  std::string reason;
  report::Value expected;
};

std::string owner_of(const StageMeasurement& measured) {
  return measured.devices.size() == 1 || measured.is_pair() ? measured.devices.front()
                                                            : std::string();
}

std::string kind_of(const StageMeasurement& measured, const RateRules& rules) {
  if (measured.devices.empty()) return {};
  const auto found = rules.device_names.find(measured.devices.front());
  return found == rules.device_names.end() ? std::string() : found->second;
}

bool is_rated(const StageMeasurement& measured) {
  return measured.again && speed_of(measured).has_value();
}

// Of a copy the first word of the label, of a kernel its name.
bool has_half_rule(const StageMeasurement& measured) {
  if (measured.devices.size() != 1 || measured.size_bytes < least_limit_bytes) return false;
  const std::string first = measured.label.substr(0, measured.label.find('.'));
  return first == "h2d" || first == "d2h" || first == "d2d" || first.starts_with("stream-");
}

const Expectation* expectation_for(const StageMeasurement& measured, const RateRules& rules) {
  if (rules.expectations == nullptr) return nullptr;
  const auto& expectations = rules.expectations->of(kind_of(measured, rules));
  const auto found = expectations.find(measured.label);
  if (found == expectations.end() || found->second.devices != measured.devices.size())
    return nullptr;
  return &found->second;
}

/// The code of a rate that is below what was expected of it.
std::string rate_code(const StageMeasurement& measured) {
  if (measured.stage == "libraries") return machine::codes::library_rate;
  if (measured.is_pair()) return machine::codes::peer_rate;
  if (measured.stage == "copy") return machine::codes::copy_rate;
  const bool moves_only = measured.stage == "memory" || measured.label.starts_with("stream-");
  return moves_only ? machine::codes::memory_rate : machine::codes::kernel_rate;
}

/// The fastest of its usual samples, as a speed.
double best_speed(const StageMeasurement& measured) {
  const double speed = *speed_of(measured);
  if (measured.samples_s.empty()) return speed;
  const double fast_s = base::quantile(measured.samples_s, 0.05);
  return fast_s > 0 ? speed * base::median(measured.samples_s) / fast_s : speed;
}

using Group = std::vector<const StageMeasurement*>;

/// The measurements that one is compared with, itself first. Only GPUs have siblings.
Group siblings_of(const StageMeasurement& measured,
                  const std::vector<StageMeasurement>& measurements, const RateRules& rules) {
  Group group{&measured};
  if (measured.is_for_expectations_only || measured.devices.empty() ||
      report::platform_of(measured.devices.front()) == "cpu")
    return group;
  for (const StageMeasurement& other : measurements) {
    if (&other == &measured || other.label != measured.label || !is_rated(other)) continue;
    const bool is_reverse = measured.is_pair() && other.source == measured.destination &&
                            other.destination == measured.source;
    const bool is_sibling = !measured.is_pair() && measured.devices.size() == 1 &&
                            other.devices.size() == 1 &&
                            kind_of(other, rules) == kind_of(measured, rules);
    if (is_reverse || is_sibling) group.push_back(&other);
  }
  return group;
}

std::optional<TooSlow> slower_than_siblings(const StageMeasurement& measured, const Group& group,
                                            double spread) {
  if (group.size() < 2) return {};
  std::vector<double> speeds;
  std::vector<double> best;
  for (const StageMeasurement* one : group) {
    speeds.push_back(*speed_of(*one));
    best.push_back(best_speed(*one));
  }
  const std::optional<double> slow = base::find_slow(speeds, best, spread).front();
  if (!slow) return {};
  const double others = *slow;
  report::Measurement usual = *group[1];
  if (usual.bytes_per_s)
    usual.bytes_per_s = others;
  else if (usual.flops_per_s)
    usual.flops_per_s = others;
  else
    usual.median_s = 1 / others;
  const std::string who = measured.is_pair()  ? "the other direction"
                          : group.size() == 2 ? group[1]->devices.front()
                                              : fmt::format("its {} siblings", group.size() - 1);
  return TooSlow{measured.is_pair() ? machine::codes::peer_rate : machine::codes::sibling_rate,
                 fmt::format("{} is {} below {} with {}", figure_text(measured),
                             format_share(1 - speeds.front() / others), who, figure_text(usual)),
                 figure_text(usual)};
}

std::optional<TooSlow> too_slow(const StageMeasurement& measured,
                                const std::vector<StageMeasurement>& measurements,
                                const RateRules& rules) {
  const Expectation* const expectation = expectation_for(measured, rules);
  if (expectation != nullptr && !meets(*expectation, measured)) {
    const std::string expected = figure_text(*expectation);
    return TooSlow{rate_code(measured),
                   fmt::format("{}, {} {} expected by {}", figure_text(measured),
                               expectation->most_s ? "at most" : "at least", expected,
                               rules.expectations->path),
                   expected};
  }
  if (has_half_rule(measured) && measured.share_of_limit &&
      *measured.share_of_limit < least_share_of_limit) {
    return TooSlow{
        measured.stage == "copy" ? machine::codes::copy_limit : machine::codes::memory_rate,
        fmt::format("{} is {} of its limit ({}), at least {} expected", figure_text(measured),
                    format_share(*measured.share_of_limit), measured.limit_source,
                    format_share(least_share_of_limit)),
        format_share(least_share_of_limit) + " of the limit"};
  }
  return slower_than_siblings(measured, siblings_of(measured, measurements, rules), rules.spread);
}

void measure_again(StageMeasurement& measured, const RateRules& rules) {
  std::optional<report::Measurement> again = rules.again(measured);
  if (!again || !speed_of(*again) || *speed_of(*again) <= *speed_of(measured)) return;
  static_cast<report::Measurement&>(measured) = std::move(*again);
}

/// What an expectation is for and was not measured here.
void find_unmeasured(const std::vector<StageMeasurement>& measurements, const RateRules& rules,
                     std::vector<RateFault>& faults) {
  if (rules.expectations == nullptr) return;
  for (const StageMeasurement& measured : measurements) {
    if (measured.status != report::Status::skipped || measured.devices.empty()) continue;
    const Expectation* const expectation = expectation_for(measured, rules);
    if (expectation == nullptr) continue;
    const std::string expected = figure_text(*expectation);
    Fault fault = fault_of(machine::codes::not_measured, measured);
    fault.reason = fmt::format("not measured ({}), {} expected by {}", measured.reason, expected,
                               rules.expectations->path);
    fault.action = "make it possible, or remove it from the file";
    fault.expected = expected;
    fault.got = "skipped: " + measured.reason;
    faults.push_back({owner_of(measured), std::move(fault)});
  }
}

}  // namespace

std::vector<RateFault> judge_rates(std::vector<StageMeasurement>& measurements,
                                   const RateRules& rules, ExpectationResults& results) {
  std::vector<RateFault> faults;
  std::vector<std::size_t> suspects;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    if (is_rated(measurements[i]) && too_slow(measurements[i], measurements, rules))
      suspects.push_back(i);
  }
  for (const std::size_t i : suspects) measure_again(measurements[i], rules);
  for (const StageMeasurement& measured : measurements) {
    if (!is_rated(measured)) continue;
    if (expectation_for(measured, rules) != nullptr) ++results.judged;
    const auto slow = too_slow(measured, measurements, rules);
    if (!slow) continue;
    Fault fault = fault_of(slow->code, measured);
    fault.reason = slow->reason;
    fault.action = slow_action;
    fault.expected = slow->expected;
    fault.got = figure_text(measured);
    faults.push_back({owner_of(measured), std::move(fault)});
  }
  find_unmeasured(measurements, rules, faults);
  return faults;
}

}  // namespace hiptool::accept
