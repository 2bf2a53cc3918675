// SPDX-License-Identifier: MIT
#include "accept/rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "accept/stages.hpp"
#include "base/contains.hpp"
#include "base/statistics.hpp"
#include "base/units.hpp"
#include "hiptool/platform.hpp"
#include "measure/boards.hpp"
#include "measure/library/compute.hpp"
#include "report/spread.hpp"

namespace hiptool::accept {
namespace {

constexpr std::uint64_t least_limit_bytes = 16u << 20;  // less is governed by latency
constexpr std::uint64_t least_product_size = 4096;
// Less than this below is more often another program or a hot machine than a damaged one.
constexpr double small_shortfall = 0.15;
constexpr const char* slightly_slow_action =
    "check it again on an idle machine; see clocks, temperature and other programs with `hiptool "
    "devices --doctor`";
constexpr const char* slow_action =
    "see link, clocks and other programs with `hiptool devices --doctor`; compare with "
    "`hiptool bench-copy` and `hiptool run-kernel`; cool, reseat or replace the device";

/// Why a measurement is too slow.
struct TooSlow {
  std::string code;
  std::string reason;
  report::Value expected;
  double shortfall = 0;      ///< 0.1: 10 % below what is expected
  bool is_relative = false;  ///< to others, which differ from run to run too
};

std::string owner_of(const StageMeasurement& measured) {
  return measured.devices.size() == 1 || measured.is_pair() ? measured.devices.front()
                                                            : std::string();
}

std::string kind_of(const StageMeasurement& measured, const RateRules& rules) {
  if (measured.devices.empty()) return {};
  const auto found = rules.devices.find(measured.devices.front());
  return found == rules.devices.end() ? std::string() : found->second.name;
}

std::size_t count_of_kind(const std::string& kind, const RateRules& rules) {
  return static_cast<std::size_t>(
      std::count_if(rules.devices.begin(), rules.devices.end(),
                    [&kind](const auto& device) { return device.second.name == kind; }));
}

/// That of an id such as "nvidia:0"; cpu for any other, of which nothing is published.
Platform platform_in(const std::string& device_id) {
  const std::string name = report::platform_of(device_id);
  for (const Platform platform : {Platform::amd, Platform::nvidia}) {
    if (name == to_string(platform)) return platform;
  }
  return Platform::cpu;
}

bool is_rated(const StageMeasurement& measured) {
  return measured.again && speed_of(measured).has_value();
}

// Of a copy the first word of the label, of a kernel its name.
std::string first_word(const StageMeasurement& measured) {
  return measured.label.substr(0, measured.label.find('.'));
}

bool has_half_rule(const StageMeasurement& measured) {
  if (measured.devices.size() != 1 || measured.size_bytes < least_limit_bytes) return false;
  const std::string first = first_word(measured);
  return first == "h2d" || first == "d2h" || first == "d2d" || first.starts_with("stream-");
}

/// "4096x4096x8192": every dimension is as large as those that products are published of.
bool is_large_product(const StageMeasurement& measured) {
  if (measured.library.empty() || !measure::is_library(measured.library)) return false;
  if (first_word(measured) != "matmul" || (measured.dtype != "f16" && measured.dtype != "bf16"))
    return false;
  std::size_t numbers = 0;
  std::uint64_t number = 0;
  for (const char c : measured.shape + "x") {
    if (c >= '0' && c <= '9') {
      number = 10 * number + static_cast<std::uint64_t>(c - '0');
    } else {
      if (number < least_product_size) return false;
      ++numbers;
      number = 0;
    }
  }
  return numbers >= 3;
}

/// What is published of the model for such a measurement.
std::optional<measure::RateKind> published_kind(const StageMeasurement& measured) {
  if (is_large_product(measured)) return measure::RateKind::product;
  if (measured.size_bytes < least_limit_bytes) return {};
  const std::string first = first_word(measured);
  if (measured.is_pair()) {
    if (first == "p2p-write" || first == "p2p-read") return measure::RateKind::peer;
    return {};
  }
  if (measured.devices.size() != 1) return {};
  if (first == "h2d" || first == "d2h") return measure::RateKind::link;
  const bool is_wide = measured.dtype == "f32" || measured.dtype == "f64";
  // AMD's runtime copies within the device by a kernel, of whose rate nothing is published.
  const bool is_by_engine = platform_in(measured.devices.front()) == Platform::nvidia;
  if ((first == "d2d" && is_by_engine) || (first == "stream-triad" && is_wide))
    return measure::RateKind::memory;
  return {};
}

const Expectation* expectation_for(const StageMeasurement& measured, const RateRules& rules) {
  if (rules.expectations == nullptr) return nullptr;
  const auto* expectations =
      rules.expectations->find(expectation_key(measured, [&rules](const std::string& id) {
        const auto device = rules.devices.find(id);
        return device == rules.devices.end() ? std::string() : device->second.name;
      }));
  if (expectations == nullptr) return nullptr;
  auto found = expectations->find(measured.label);
  if (found == expectations->end())
    found = std::find_if(expectations->begin(), expectations->end(),
                         [&](const auto& one) { return is_for(one.first, measured); });
  if (found == expectations->end() || found->second.devices != measured.devices.size())
    return nullptr;
  const Expectation& expectation = found->second;
  const bool is_other_figure = speed_of(measured) && !is_comparable(expectation, measured);
  return is_other_figure ? nullptr : &expectation;
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

/// Speeds of measurements that were made a second time for a comparison, by id.
using SecondSpeeds = std::map<std::string, double>;

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

/// The usual speed of the others if the first one of the group is slow; see judge_rates().
std::optional<double> usual_if_slow(const Group& group, const SecondSpeeds& seconds,
                                    double spread) {
  const auto speed = [&](const StageMeasurement* one) {
    const auto second = seconds.find(one->id);
    return second == seconds.end() ? *speed_of(*one) : (*speed_of(*one) + second->second) / 2;
  };
  Group left = group;
  std::sort(left.begin(), left.end(),
            [&](const auto* one, const auto* other) { return speed(one) < speed(other); });
  const std::size_t least = std::min(group.size(), least_siblings);
  while (left.size() >= least && left.size() > 1) {
    const StageMeasurement* const slowest = left.front();
    left.erase(left.begin());
    // Of two in the middle the lower one, so that one fast outlier makes nobody slow.
    const double usual = speed(left[(left.size() - 1) / 2]);
    const bool is_slow = speed(slowest) < (1 - spread) * usual && best_speed(*slowest) < usual;
    if (!is_slow) return {};
    if (slowest == group.front()) return usual;
  }
  return {};
}

std::optional<TooSlow> slower_than_siblings(const StageMeasurement& measured, const Group& group,
                                            const SecondSpeeds& seconds, double spread) {
  const std::optional<double> slow = usual_if_slow(group, seconds, spread);
  if (!slow) return {};
  const double others = *slow;
  report::Measurement usual = *group[1];
  if (usual.bytes_per_s)
    usual.bytes_per_s = others;
  else if (usual.flops_per_s)
    usual.flops_per_s = others;
  else
    usual.median_s = 1 / others;
  const std::string who =
      measured.is_pair() ? "the other direction" : fmt::format("its {} siblings", group.size() - 1);
  const double shortfall = 1 - *speed_of(measured) / others;
  return TooSlow{measured.is_pair() ? machine::codes::peer_rate : machine::codes::sibling_rate,
                 fmt::format("{} is {} {} with {}", figure_text(measured),
                             shortfall_text(shortfall), who, figure_text(usual)),
                 figure_text(usual), shortfall, true};
}

std::optional<TooSlow> slower_than_expected(const StageMeasurement& measured,
                                            const RateRules& rules) {
  const Expectation* const expectation = expectation_for(measured, rules);
  if (expectation == nullptr) return {};
  report::Measurement judged = measured;
  if (report::is_short(measured)) {
    const double factor = best_speed(measured) / *speed_of(measured);
    if (judged.bytes_per_s) *judged.bytes_per_s *= factor;
    if (judged.flops_per_s) *judged.flops_per_s *= factor;
    if (judged.median_s) *judged.median_s /= factor;
  }
  if (meets(*expectation, judged)) return {};
  const std::string expected = figure_text(*expectation);
  return TooSlow{
      rate_code(measured),
      fmt::format("{}, {} {} expected by {}", figure_text(measured),
                  expectation->most_s ? "at most" : "at least", expected, rules.expectations->path),
      expected, shortfall_of(*expectation, judged)};
}

/// Its PCIe link carries, while it copies, less than half of what its slot allows.
std::optional<TooSlow> slower_than_slot(const StageMeasurement& measured) {
  const bool is_known = measured.limit_source == "pcie-link" && measured.limit_bytes_per_s &&
                        measured.path_bytes_per_s && measured.devices.size() == 1;
  if (!is_known) return {};
  const double share = *measured.limit_bytes_per_s / *measured.path_bytes_per_s;
  if (share >= least_share_of_limit) return {};
  report::Measurement link;
  link.bytes_per_s = measured.limit_bytes_per_s;
  report::Measurement slot;
  slot.bytes_per_s = measured.path_bytes_per_s;
  return TooSlow{machine::codes::copy_limit,
                 fmt::format("{}: its PCIe link carries {} of {}", figure_text(measured),
                             figure_text(link), figure_text(slot)),
                 figure_text(slot) + " of the link", 1 - share};
}

/// Below what is published of the model.
std::optional<TooSlow> slower_than_published(const StageMeasurement& measured,
                                             const RateRules& rules) {
  const auto kind = published_kind(measured);
  if (!kind) return {};
  const auto device = rules.devices.find(measured.devices.front());
  if (device == rules.devices.end()) return {};
  const auto published = measure::published_rate(platform_in(device->first), device->second, *kind);
  if (!published) return {};
  double least = published->least_per_s();
  std::string source =
      published->is_measured ? "85 % of the published measurement" : "70 % of the datasheet";
  const bool is_link = *kind == measure::RateKind::link || *kind == measure::RateKind::peer;
  if (is_link) {
    if (!measured.path_bytes_per_s) return {};
    const double of_path = measure::PublishedRate{*measured.path_bytes_per_s}.least_per_s();
    if (of_path < least) {
      least = of_path;
      source = *kind == measure::RateKind::link ? "70 % of its slot" : "70 % of the links between";
    }
  }
  // A copy within the device reads and writes each byte.
  if (first_word(measured) == "d2d") least /= 2;
  const double rate = *kind == measure::RateKind::product ? measured.flops_per_s.value_or(0)
                                                          : measured.bytes_per_s.value_or(0);
  if (rate >= least) return {};
  report::Measurement expected;
  if (*kind == measure::RateKind::product)
    expected.flops_per_s = least;
  else
    expected.bytes_per_s = least;
  return TooSlow{rate_code(measured),
                 fmt::format("{}, at least {} expected of {} ({})", figure_text(measured),
                             figure_text(expected), device->second.name, source),
                 figure_text(expected), 1 - rate / least};
}

std::optional<TooSlow> too_slow(const StageMeasurement& measured,
                                const std::vector<StageMeasurement>& measurements,
                                const SecondSpeeds& seconds, const RateRules& rules) {
  if (auto slow = slower_than_expected(measured, rules)) return slow;
  if (auto slow = slower_than_published(measured, rules)) return slow;
  if (auto slow = slower_than_slot(measured)) return slow;
  if (has_half_rule(measured) && measured.share_of_limit &&
      *measured.share_of_limit < least_share_of_limit) {
    return TooSlow{
        measured.stage == "copy" ? machine::codes::copy_limit : machine::codes::memory_rate,
        fmt::format("{} is {} of its limit ({}), at least {} expected", figure_text(measured),
                    format_share(*measured.share_of_limit), measured.limit_source,
                    format_share(least_share_of_limit)),
        format_share(least_share_of_limit) + " of the limit",
        1 - *measured.share_of_limit / least_share_of_limit};
  }
  if (count_of_kind(kind_of(measured, rules), rules) < least_siblings) return {};
  return slower_than_siblings(measured, siblings_of(measured, measurements, rules), seconds,
                              report::run_spread(measured, rules.spread));
}

/// Finds those that are too slow and measures each up to three times more. The siblings of one that
/// stays slow are measured a second time, alone as it was.
class Repeater {
 public:
  Repeater(std::vector<StageMeasurement>& measurements, const RateRules& rules)
      : measurements_(measurements), rules_(rules) {}

  /// A faster suspect may leave another one the slowest, which is a suspect then.
  void repeat_all() {
    for (bool has_new = true; has_new;) {
      has_new = false;
      for (std::size_t i = 0; i < measurements_.size(); ++i) {
        if (repeated_.count(i) > 0 || !is_rated(measurements_[i]) || !judge(i)) continue;
        has_new = true;
        repeated_.insert(i);
        repeat(i);
      }
    }
  }

  std::optional<TooSlow> judge(std::size_t i) const {
    if (!is_rated(measurements_[i])) return {};
    return too_slow(measurements_[i], measurements_, seconds_, rules_);
  }

  /// Those that measuring again has found.
  std::vector<RateFault> take_faults() { return std::move(faults_); }

 private:
  /// A right measurement, if there is one. Any other takes the place of the first, which has no
  /// rate then.
  std::optional<report::Measurement> measure_again(StageMeasurement& measured) {
    std::optional<report::Measurement> again = rules_.again(measured);
    if (!again) return {};
    again->stage = measured.stage;
    if (auto fault = fault_in(measured.stage, *again, measured.wrong_data_action)) {
      faults_.push_back({owner_of(measured), std::move(*fault)});
      static_cast<report::Measurement&>(measured) = std::move(*again);
      return {};
    }
    if (!speed_of(*again)) return {};
    return again;
  }

  void repeat(std::size_t i) {
    StageMeasurement& measured = measurements_[i];
    auto slow = judge(i);
    for (int count = 0; slow && count < most_repeats; ++count) {
      auto again = measure_again(measured);
      if (again && *speed_of(*again) > *speed_of(measured))
        static_cast<report::Measurement&>(measured) = std::move(*again);
      slow = judge(i);
    }
    if (!slow || !slow->is_relative) return;
    for (const StageMeasurement* const one : siblings_of(measurements_[i], measurements_, rules_)) {
      const auto index = static_cast<std::size_t>(one - measurements_.data());
      if (repeated_.count(index) > 0 || seconds_.count(one->id) > 0) continue;
      if (const auto again = measure_again(measurements_[index]))
        seconds_[one->id] = *speed_of(*again);
    }
  }

  std::vector<StageMeasurement>& measurements_;
  const RateRules& rules_;
  std::set<std::size_t> repeated_;
  SecondSpeeds seconds_;
  std::vector<RateFault> faults_;
};

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
  Repeater repeater(measurements, rules);
  repeater.repeat_all();
  std::vector<RateFault> faults = repeater.take_faults();
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const StageMeasurement& measured = measurements[i];
    if (!is_rated(measured)) continue;
    if (expectation_for(measured, rules) != nullptr) ++results.judged;
    const auto slow = repeater.judge(i);
    if (!slow) continue;
    Fault fault = fault_of(slow->code, measured);
    fault.reason = slow->reason;
    fault.action = slow->shortfall < small_shortfall ? slightly_slow_action : slow_action;
    fault.expected = slow->expected;
    fault.got = figure_text(measured);
    faults.push_back({owner_of(measured), std::move(fault)});
  }
  find_unmeasured(measurements, rules, faults);
  return faults;
}

std::vector<std::string> models_without_limits(const RateRules& rules) {
  std::vector<std::string> models;
  for (const auto& [id, info] : rules.devices) {
    const Platform platform = platform_in(id);
    if (platform == Platform::cpu) continue;
    if (!measure::published_rate(platform, info, measure::RateKind::memory))
      base::add_once(models, info.name);
  }
  return models;
}

}  // namespace hiptool::accept
