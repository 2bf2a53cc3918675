// SPDX-License-Identifier: MIT

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.hpp"
#include "cli/commands/bench_copy/run.hpp"
#include "cli/document.hpp"
#include "hiptool/error.hpp"
#include "machine/selection.hpp"
#include "report/text.hpp"

namespace hiptool::cli {
namespace {

using measure::CopyBench;
using measure::CopyResult;
using measure::PlannedCopy;
using measure::Threshold;
using measure::ThresholdKind;
using report::Status;

constexpr double ci_time_s = 45;

// Decide which devices are seen and how copies are done.
constexpr std::array variable_names{
    "CUDA_VISIBLE_DEVICES",   "CUDA_DEVICE_ORDER",    "GPU_DEVICE_ORDINAL",
    "GPU_MAX_HW_QUEUES",      "HIP_VISIBLE_DEVICES",  "HSA_ENABLE_SDMA",
    "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIPTOOL_CPU_DEVICES"};

std::vector<Device> choose_bench_devices(Platforms& platforms,
                                         const machine::DeviceSelection& selection,
                                         bool wants_all) {
  std::vector<Device> devices = choose_devices(platforms, selection);
  if (!wants_all || !selection.ids.empty() || devices.empty()) return devices;
  return platforms.devices(devices.front().platform());
}

// Where the user named none and one was enough.
std::vector<std::string> devices_left_out(Platforms& platforms,
                                          const machine::DeviceSelection& selection,
                                          const std::vector<Device>& devices) {
  std::vector<std::string> ids;
  if (!selection.ids.empty() || devices.empty()) return ids;
  for (const Device& device : platforms.devices(devices.front().platform())) {
    const bool is_measured = std::find(devices.begin(), devices.end(), device) != devices.end();
    if (!is_measured) ids.push_back(device.id());
  }
  return ids;
}

// Of measurements that pass the filter, those that can be (were) measured.
template <class Measured, class IsMeasured>
std::vector<const measure::CopySpec*> measured_specs(const Measured& specs,
                                                     const IsMeasured& is_measured) {
  std::vector<const measure::CopySpec*> found;
  for (const auto& spec : specs) {
    if (is_measured(spec)) found.push_back(&spec.spec);
  }
  return found;
}

// A line for each measurement that is done, on err.
void tell_progress(Context& context, const CopyResult& result, std::size_t number,
                   std::size_t total) {
  if (context.quiet) return;
  std::string text = fmt::format("[{}/{}] {}: ", number, total, result.id);
  if (result.samples_s.empty()) {
    text += fmt::format("{}: {}", to_string(result.status), result.reason);
  } else if (result.spec.is_latency) {
    text += format_duration(result.summary.median);
  } else {
    text += format_rate(*result.bytes_per_s);
  }
  if (result.wrong) text += ", WRONG DATA";
  context.environment.console.err(report::printable_lines(text) + "\n");
}

// Repeats a measurement until its threshold is met often enough or cannot be met any more. One that
// fails ends this without a verdict of the threshold.
void judge_copy(const std::vector<Threshold>& thresholds, const measure::Retry& retry,
                const PlannedCopy& planned, CopyBench& bench, CopyResult& result,
                std::vector<report::ThresholdResult>& judged) {
  for (const Threshold* threshold : measure::thresholds_for(result.spec, thresholds)) {
    if (result.samples_s.empty()) return;
    report::ThresholdResult one = measure::judge(*threshold, result);
    while (one.met < retry.needed && one.measured < retry.most &&
           one.measured - one.met <= retry.most - retry.needed) {
      CopyResult again = bench.measure(planned);
      if (again.samples_s.empty()) {
        // It failed as the first one could have, and wrong data outranks that.
        if (!result.wrong) result = std::move(again);
        return;
      }
      const report::ThresholdResult next = measure::judge(*threshold, again);
      one.measured_bytes_per_s = next.measured_bytes_per_s;
      one.measured_s = next.measured_s;
      one.met += next.met;
      ++one.measured;
      // A later correct copy does not excuse wrong data.
      const bool was_wrong = result.wrong.has_value();
      if (!was_wrong) result = std::move(again);
    }
    one.is_met = one.met >= retry.needed;
    if (!one.is_met) {
      const bool is_latency = one.most_s.has_value();
      one.missed = {is_latency ? fmt::format("{} {} > {}", one.id, one.measured_text(),
                                             format_duration(*one.most_s))
                               : fmt::format("{} {} < {}", one.id, one.measured_text(),
                                             format_rate(*one.least_bytes_per_s))};
      one.failures = {is_latency
                          ? report::missed_by(one.threshold, one.id, one.most_s, one.measured_s)
                          : report::missed_by(one.threshold, one.id, one.least_bytes_per_s,
                                              one.measured_bytes_per_s)};
    }
    judged.push_back(std::move(one));
  }
}

void mark_unmeasured(const std::vector<PlannedCopy>& plan, results::BenchCopyOutcome& outcome) {
  for (std::size_t i = outcome.results.size(); i < plan.size(); ++i) {
    CopyResult result(plan[i].spec);
    result.status = Status::skipped;
    result.reason = "interrupted";
    outcome.results.push_back(std::move(result));
  }
}

void measure_all(const std::vector<PlannedCopy>& plan, const std::vector<Threshold>& thresholds,
                 const measure::Retry& retry, CopyBench& bench, Context& context,
                 results::BenchCopyOutcome& outcome) {
  // A threshold that cannot be judged is reported after all measurements.
  std::optional<Error> unjudged;
  try {
    for (const PlannedCopy& planned : plan) {
      context.environment.cancel.throw_if_cancelled("bench-copy");
      context.environment.console.set_step(
          fmt::format("measurement {} of {}", outcome.results.size() + 1, plan.size()));
      CopyResult result = bench.measure(planned);
      // Kept before it is judged: judging may measure again and be interrupted.
      outcome.results.push_back(result);
      tell_progress(context, result, outcome.results.size(), plan.size());
      try {
        judge_copy(thresholds, retry, planned, bench, outcome.results.back(), outcome.thresholds);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) throw;
        if (!unjudged) unjudged = error;
      }
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) mark_unmeasured(plan, outcome);
    throw;
  }
  if (unjudged) throw *unjudged;
}

}  // namespace

void run_bench_copy_steps(const BenchCopyOptions& options, Context& context,
                          results::BenchCopyOutcome& outcome) {
  Environment& environment = context.environment;
  BenchCopyRequest request = parse_bench_copy(options);
  const measure::Retry retry =
      options.retry.empty() ? measure::Retry{} : measure::parse_retry(options.retry);
  effect_of(options.compare, base::least_effect);  // refuses a wrong one early
  measure::plain_thresholds(options.thresholds, ThresholdKind::copies);  // refuses wrong ones early
  std::optional<report::RunFile> baseline;
  if (!options.baseline.empty())
    baseline = results::read_baseline(options.baseline, environment.cancel);

  const auto platforms = context.make_platforms();
  environment.console.set_step("starting the devices");
  const std::vector<Device> devices =
      choose_bench_devices(*platforms, context.devices, request.wants_all_devices());
  note_devices(environment, *platforms, devices);
  if (devices.size() == 1) {
    context.output.explain_devices(machine::explain_default(*platforms, context.devices));
  }
  outcome.left_out = devices_left_out(*platforms, context.devices, devices);
  const std::vector<measure::HostNode> nodes = measure::read_host_nodes(environment.system_root);
  const std::vector<PlannedCopy> plan = plan_bench_copy(request, devices, nodes);
  const std::vector<Threshold> thresholds = measure::collect_thresholds(
      options.thresholds, devices, ThresholdKind::copies, &environment.cancel);
  const auto to_measure =
      measured_specs(plan, [](const PlannedCopy& spec) { return spec.skip_reason.empty(); });
  // If nothing can be measured, that is the failure, not a threshold.
  if (!to_measure.empty()) measure::require_selected(thresholds, to_measure);
  for (const char* name : variable_names) {
    if (auto value = environment.getenv(name)) outcome.variables.emplace_back(name, *value);
  }

  measure::DeviceWatch watch(*platforms, devices, environment.system_root);
  outcome.devices = watch.devices();
  measure::CopyBenchOptions bench_options;
  bench_options.sampling = request.sampling;
  if (request.is_ci && options.time.empty() && !to_measure.empty()) {
    bench_options.sampling.time_budget_s = std::min(
        request.sampling.time_budget_s, ci_time_s / static_cast<double>(to_measure.size()));
  }
  bench_options.run.is_steady = request.is_steady;
  bench_options.root = environment.system_root;
  bench_options.nodes = nodes;
  bench_options.cancel = &environment.cancel;
  bench_options.while_copying = [&watch] { watch.look(); };
  CopyBench bench(std::move(bench_options));
  const auto finish = [&] {
    watch.finish(bench.links());
    outcome.devices = watch.devices();
  };
  try {
    measure_all(plan, thresholds, retry, bench, context, outcome);
  } catch (const Error&) {
    finish();
    throw;
  }
  finish();
  if (outcome.count(Status::skipped) == outcome.results.size()) return;
  if (baseline && outcome.measured() > 0) {
    outcome.baseline = results::compare_with_baseline(
        *baseline, outcome, make_run(environment, "bench-copy", "ok"),
        effect_of(options.compare, base::least_effect));
    outcome.baseline->compared.is_strict = options.compare.is_strict;
    outcome.baseline->compared.is_strict_baseline = options.strict_baseline;
  }
  measure::require_selected(thresholds,
                            measured_specs(outcome.results, [](const CopyResult& result) {
                              return result.status != Status::skipped;
                            }));
}

}  // namespace hiptool::cli
