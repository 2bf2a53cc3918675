// SPDX-License-Identifier: MIT
#include "accept/machine.hpp"
#include "accept/rates.hpp"
#include "report/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace hiptool::accept {
namespace {

GpuCounts count_gpus(const CheckResult& result) {
  GpuCounts counts;
  for (const CheckedDevice& device : result.devices) {
    if (machine::is_gpu(device.platform)) ++counts[device.info.name];
  }
  return counts;
}

std::string key_of(const report::Measurement& measured, const CheckResult& result) {
  return expectation_key(measured, [&result](const std::string& id) {
    const auto device = std::ranges::find(result.devices, id, &CheckedDevice::id);
    return device == result.devices.end() ? std::string() : device->info.name;
  });
}

Error unmeasured(const Expectations& expectations, const std::string& kind,
                 const std::string& label) {
  return Error(ErrorCode::invalid_argument, "check",
               fmt::format("{} expects '{}' of {}, which this run did not measure",
                           expectations.path, label, kind),
               "write the file again with --write-expect, or remove the measurement");
}

Error other_figure(const Expectations& expectations, const std::string& kind,
                   const std::string& label, const Expectation& expectation,
                   const report::Measurement& measured) {
  return Error(
      ErrorCode::invalid_argument, "check",
      fmt::format("{} expects {} as '{}' of {}, which is measured in another unit: {}",
                  expectations.path, figure_text(expectation), label, kind, figure_text(measured)),
      "write the file again with --write-expect, or correct the measurement's figure: "
      "bytes_per_s, flops_per_s or most_s");
}

}  // namespace

std::optional<Fault> compare_gpu_counts(const Expectations& expectations,
                                        const CheckedMachine& machine, CheckOutcome& outcome) {
  if (!machine.is_whole || !machine.dead.empty()) return {};
  auto& compared = outcome.result.expectations.gpus;
  compared = compare_counts(expectations, count_gpus(outcome.result));
  std::vector<std::string> expected;
  std::vector<std::string> got;
  for (const CountedGpus& gpus : compared) {
    if (gpus.found >= gpus.expected) continue;
    expected.push_back(fmt::format("{} {}", gpus.expected, gpus.name));
    got.push_back(fmt::format("{} of {} {}", gpus.found, gpus.expected, gpus.name));
  }
  if (got.empty()) return {};
  const std::string& set = machine.visibility;
  if (!set.empty() && outcome.level == CheckLevel::prolog) {
    outcome.result.expectations.why_not_counted =
        fmt::format("{} visible with {}", report::and_list(got), set);
    compared.clear();
    return {};
  }
  std::string reason =
      fmt::format("{} found; {} expects more", report::and_list(got), expectations.path);
  std::string action =
      "find the missing GPU with `hiptool devices --doctor` and `sudo dmesg`, check its "
      "power and seating; to check some of the GPUs name them with --device";
  if (!set.empty()) {
    reason += ", and " + set + " may hide them";
    action =
        "unset the variable to check the whole machine; to check some of the GPUs name them "
        "with --device";
  }
  return Fault{machine::codes::gpu_count,
               "gpu-count",
               "",
               std::move(reason),
               std::move(action),
               std::nullopt,
               fmt::format("{}", fmt::join(expected, ", ")),
               fmt::format("{}", fmt::join(got, ", "))};
}

void compare_expectations(const CheckOptions& options, CheckOutcome& outcome) {
  if (!options.expectations) return;
  CheckResult& result = outcome.result;
  const auto level = parse_check_level(options.expectations->level);
  std::map<std::string, std::vector<const StageMeasurement*>> measured_of;
  for (const CheckedDevice& device : result.devices) measured_of[device.info.name];
  for (const StageMeasurement& measured : result.measurements) {
    const std::string key = key_of(measured, result);
    if (options.expectations->find(key) != nullptr) measured_of[key].push_back(&measured);
  }
  for (const auto& [kind, all] : measured_of) {
    for (const auto& [label, expectation] : options.expectations->of(kind)) {
      const auto is_its = [&name = label, &expected = expectation](const auto* measured) {
        // One that failed has no figure at all.
        return is_for(name, *measured) &&
               (is_comparable(expected, *measured) || measured->status != report::Status::ok);
      };
      if (std::any_of(all.begin(), all.end(), is_its)) continue;
      const auto other = std::find_if(all.begin(), all.end(), [&name = label](const auto* one) {
        return is_for(name, *one) && speed_of(*one).has_value();
      });
      const auto& chosen = outcome.stages;
      const bool is_of_other =
          std::find(chosen.begin(), chosen.end(), stage_of_label(label)) == chosen.end();
      const bool is_of_more = expectation.devices > 1;  // which are not chosen here
      const bool is_of_higher = level && *level > options.level;
      const bool may_be_absent = other == all.end() && (is_of_other || is_of_more || is_of_higher);
      if (may_be_absent || result.worst() != nullptr) {
        result.expectations.not_measured.push_back(kind + ": " + label);
        continue;
      }
      if (outcome.error) continue;
      outcome.error_code = machine::codes::not_measured;
      outcome.error = other == all.end()
                          ? unmeasured(*options.expectations, kind, label)
                          : other_figure(*options.expectations, kind, label, expectation, **other);
    }
  }
}

std::string limits_text(const CheckOutcome& outcome) {
  const CheckResult& result = outcome.result;
  // A file of --expect has every kind of GPU that was checked.
  if (!outcome.expect.empty() || result.without_limits.empty()) return {};
  const GpuCounts counts = count_gpus(result);
  const bool has_siblings =
      std::all_of(result.without_limits.begin(), result.without_limits.end(),
                  [&](const std::string& name) { return counts.at(name) >= least_siblings; });
  return fmt::format("no limit known for {}: {}", fmt::join(result.without_limits, ", "),
                     has_siblings ? "compared with siblings only" : "give --expect FILE");
}

std::string expectations_of(const CheckOutcome& outcome, double margin,
                            const std::string& written_at) {
  const CheckResult& result = outcome.result;
  std::vector<RatedMeasurement> measurements;
  const auto add = [&](const std::vector<StageMeasurement>& list) {
    for (const StageMeasurement& measured : list) {
      const bool is_rated = measured.again || measured.stage == "soak";
      if (!is_rated || measured.devices.empty()) continue;
      std::string key = key_of(measured, result);
      if (!key.empty()) measurements.push_back({&measured, std::move(key)});
    }
  };
  add(result.measurements);
  for (const auto& repeat : outcome.repeats) add(repeat);
  // A variable may hide some.
  const bool has_all = outcome.is_whole && outcome.visibility.empty();
  const GpuCounts counts = has_all ? count_gpus(result) : GpuCounts();
  return expectations_text(
      measurements, counts,
      {std::string(to_string(outcome.level)), margin, 1 + outcome.repeats.size(), written_at});
}

}  // namespace hiptool::accept
