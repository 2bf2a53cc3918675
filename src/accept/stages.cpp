// SPDX-License-Identifier: MIT
#include "accept/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "accept/load_sensors.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "hip/sensors.hpp"
#include "hiptool/error.hpp"
#include "measure/boards.hpp"
#include "measure/kernel_bench.hpp"
#include "measure/ops/sweep.hpp"
#include "measure/peak.hpp"
#include "report/report.hpp"

namespace hiptool::accept {
namespace {

constexpr const char* memory_action =
    "stop using the device, reset it, then test its memory with `hiptool check --level long`; "
    "replace it if that fails again";
constexpr const char* kernel_action =
    "repeat it with `hiptool run-kernel all`; if it is wrong again, reset the device and update "
    "its driver, and replace the device if neither helps";
// A launch of any kernel takes less; reading results back and comparing them takes most.
constexpr double memory_share = 0.9;
constexpr double longest_soak_s = 60;
constexpr std::size_t few_samples = 9;
// The clocks of a GPU that was idle, while the host judged, rise within some milliseconds.
constexpr double gpu_warm_up_s = 0.03;
constexpr std::uint64_t small_size_bytes = 1u << 20;

/// The options of one set of kernels.
measure::KernelBenchOptions bench_options(const Device& device, const StageContext& context) {
  measure::KernelBenchOptions bench;
  bench.cancel = context.cancel;
  bench.warm_up_s = device.is_host_memory() ? 0 : gpu_warm_up_s;
  if (context.size_bytes > 0) bench.sizes_bytes = {context.size_bytes};
  if (context.level <= CheckLevel::quick) bench.samples = few_samples;
  if (const auto peak = measure::memory_peak(device.platform(), device.info())) {
    bench.memory_peak = measure::Peak{peak->bytes_per_s, peak->source};
  }
  return bench;
}

/// The same kernel once more, for a rate that is too low.
std::function<report::Measurement()> kernel_again(const Device& device,
                                                  measure::KernelBenchOptions bench,
                                                  const measure::KernelResult& result) {
  bench.names = {result.kernel};
  bench.dtypes = {result.dtype};
  bench.clock_hz = nullptr;
  bench.soak_s = 0;
  return [device, bench]() -> report::Measurement {
    const std::vector<measure::KernelResult> results = measure::run_kernels(bench, device);
    return results.empty() ? report::Measurement() : measurement_of(results.front());
  };
}

std::string kernel_figure(const measure::KernelResult& result) {
  const std::string rate = figure_text(result);
  if (rate.empty()) return {};
  // Of u32 there are kernels that have no other type.
  return result.kernel + (result.dtype == "u32" ? "" : " " + result.dtype) + " " + rate;
}

void add_kernel(const char* stage, const char* action, const Device& device,
                const measure::KernelBenchOptions& bench, const measure::KernelResult& result,
                StageWork& work) {
  if (result.status != measure::Status::ok) {
    add_measured(stage, result, action, work);
    return;
  }
  StageMeasurement measured;
  static_cast<report::Measurement&>(measured) = measurement_of(result);
  measured.stage = stage;
  measured.again = kernel_again(device, bench, result);
  measured.wrong_data_action = action;
  work.add_figure(kernel_figure(result));
  work.add(std::move(measured));
}

/// One family after the other, so that the one that hangs is known.
void run_bench(const char* stage, const char* action, const Device& device,
               measure::KernelBenchOptions bench, Heartbeat& heart, StageWork& work) {
  const double soak_factor = 1 + bench.soak_s / 10;
  for (const measure::KernelFamily& family : chosen_kernels(bench)) {
    if (bench.cancel->is_cancelled()) return;
    measure::KernelBenchOptions one = bench;
    one.names = {family.name};
    one.on_result = [&](const measure::KernelResult& result, std::size_t, std::size_t) {
      heart.step(family.name + " on " + device.id(), soak_factor);
      add_kernel(stage, action, device, bench, result, work);
    };
    heart.step(family.name + " on " + device.id(), soak_factor);
    if (family.dtypes.empty()) continue;
    one.dtypes = family.dtypes;
    run_kernels(one, device);
  }
}

measure::LibraryResult compute_by_library(const Device& device, const measure::LibraryChild& child,
                                          const measure::Problem& problem, const std::string& name,
                                          const measure::LibraryOptions& options) {
  return child.program.empty() ? measure_problem(device, problem, name, options)
                               : measure_in_child(child, device, problem, name, options);
}

/// The measured of a right result whose rate expectations may judge.
StageMeasurement library_measurement(const Device& device, const measure::LibraryChild& child,
                                     const measure::LibraryResult& result,
                                     const measure::LibraryOptions& options,
                                     const std::string& action) {
  StageMeasurement measured;
  static_cast<report::Measurement&>(measured) = measurement_of(result);
  measured.stage = "libraries";
  measured.is_for_expectations_only = true;
  measured.again = [device, child, problem = result.problem, name = result.library,
                    options]() -> report::Measurement {
    return measurement_of(compute_by_library(device, child, problem, name, options));
  };
  measured.wrong_data_action = action;
  return measured;
}

/// The product whose rate is published of some models; nothing for others.
std::optional<measure::Problem> large_product(measure::ProblemKind kind, const Device& device,
                                              const StageContext& context) {
  const bool is_known =
      kind == measure::ProblemKind::matmul && context.size_bytes == 0 &&
      measure::published_rate(device.platform(), device.info(), measure::RateKind::product);
  if (!is_known) return {};
  measure::Problem problem = default_problem(kind, true);
  set_shape(problem, "8192x8192x8192");
  set_dtype(problem, DType::bf16);
  return problem;
}

/// The problem of every library: small on hosts and where sizes are.
measure::Problem usual_problem(measure::ProblemKind kind, const Device& device,
                               const StageContext& context) {
  measure::Problem problem = default_problem(kind, true);
  const bool is_product = kind == measure::ProblemKind::matmul;
  if (context.size_bytes > 0 && context.size_bytes < small_size_bytes) {
    set_shape(problem, is_product ? "64x64x64" : "n1c8h14w14:k8r3s3p1");
  } else if (!device.is_host_memory()) {
    set_shape(problem, is_product ? "1024x1024x1024" : "n8c64h28w28:k64r3s3p1");
    set_dtype(problem, DType::f16);
  }
  return problem;
}

std::string wrong_data_code(const std::string& stage) {
  if (stage == "copy") return machine::codes::copy_data;
  if (stage == "memory") return machine::codes::memory_data;
  if (stage == "kernels") return machine::codes::kernel_data;
  if (stage == "libraries") return machine::codes::library_data;
  return machine::codes::operation_data;
}

}  // namespace

void StageWork::add(StageMeasurement measured) {
  const std::lock_guard lock(mutex_);
  found_.has_run = found_.has_run || measured.status != measure::Status::skipped;
  if (!measured.started_at) measured.started_at = last_added_;
  last_added_ = std::chrono::steady_clock::now();
  if (!measured.ended_at) measured.ended_at = last_added_;
  found_.measurements.push_back(std::move(measured));
}

void StageWork::add(Fault fault) {
  const std::lock_guard lock(mutex_);
  found_.has_run = true;
  found_.faults.push_back(std::move(fault));
}

void StageWork::add_figure(const std::string& text) {
  const std::lock_guard lock(mutex_);
  found_.has_run = true;
  if (!text.empty()) found_.figures.push_back(text);
}

void StageWork::add_skip(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (std::find(found_.skips.begin(), found_.skips.end(), reason) == found_.skips.end()) {
    found_.skips.push_back(reason);
  }
}

StageWork::Findings StageWork::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, {});
}

std::string held_up_text(const std::string& device, const std::string& hung) {
  return fmt::format(
      "no answer after {} hung, which holds up the driver; check it alone with "
      "`hiptool check --device {}`",
      hung, device);
}

std::string action_of(const Error& error) {
  if (!error.hint().empty()) return error.hint();
  switch (error.code()) {
    case ErrorCode::timed_out:
    case ErrorCode::device_lost:
    case ErrorCode::device:
      return "find the cause with `sudo dmesg | tail -n 50`; reset the device or reboot, then "
             "check "
             "it again";
    case ErrorCode::out_of_memory: return "end other programs that use the device";
    default: return "repeat it with --verbose";
  }
}

std::string action_for_hang(Platform platform, double patience_s, const Error& error) {
  const std::string more_time = fmt::format("--timeout {:.0f}", std::ceil(4 * patience_s));
  if (platform == Platform::cpu) {
    return "the machine may be busy: check it again when it is idle, or give each step more time "
           "with " +
           more_time;
  }
  return action_of(error) + "; if the machine is only slow or busy, use " + more_time;
}

std::optional<Fault> fault_in(const std::string& stage, const report::Measurement& measured,
                              const std::string& action) {
  if (!measured.has_failed()) return {};
  Fault fault = fault_of(wrong_data_code(stage), measured);
  if (measured.status == measure::Status::mismatch) {
    std::string reason = measured.reason;
    if (measured.wrong) {
      reason = wrong_text(*measured.wrong) + (reason.empty() ? "" : "; " + reason);
      // Copies have no numbers, and are not read a second time.
      const bool was_reread = !measured.wrong->expected.is_absent();
      if (was_reread) {
        reason += "; ";
        reason += report::second_read_text(*measured.wrong);
      }
    }
    fault.reason = reason;
    fault.action = action;
    fault.error = Error(ErrorCode::data_mismatch, stage, measured.id + ": " + reason, action);
  } else {
    const Error error = measured.error.value_or(Error(ErrorCode::device, stage, measured.reason));
    fault.code = code_of(error);
    fault.reason = error.what();
    fault.action = action_of(error);
    fault.error = error;
  }
  return fault;
}

void add_measured(const std::string& stage, const report::Measurement& measured,
                  const std::string& action, StageWork& work) {
  StageMeasurement of_stage;
  static_cast<report::Measurement&>(of_stage) = measured;
  of_stage.stage = stage;
  if (auto fault = fault_in(stage, measured, action)) work.add(std::move(*fault));
  if (measured.status == measure::Status::skipped) work.add_skip(measured.reason);
  work.add(std::move(of_stage));
}

void add_slowdown(const std::string& device, const std::vector<std::string>& reasons,
                  StageWork& work) {
  std::string text;
  for (const std::string& reason : reasons) {
    if (hip::is_hardware_slowdown(reason)) text += (text.empty() ? "" : ", ") + reason;
  }
  if (text.empty()) return;
  const std::string see = device.starts_with("amd") ? "amd-smi metric"
                                                    : "nvidia-smi -q -d "
                                                      "PERFORMANCE,TEMPERATURE,POWER";
  work.add(Fault{machine::codes::throttled, "throttle", device,
                 "the hardware lowers its clocks: " + text,
                 "improve the airflow: check fans, filters, heat sink and inlet temperature; check "
                 "the power supply and its cables; see `" +
                     see + "`",
                 std::nullopt, "no slowdown by the hardware", text});
}

void memory_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                  StageWork& work) {
  measure::KernelBenchOptions bench = bench_options(device, context);
  bench.names = {"memtest-address", "memtest-random"};
  if (context.level > CheckLevel::quick) {
    bench.names = {"memtest"};
    // Other programs use the memory of the host too.
    if (!device.is_host_memory() && context.size_bytes == 0) bench.memory_share = memory_share;
  }
  if (context.level == CheckLevel::extended) bench.soak_s = longest_soak_s;
  run_bench("memory", memory_action, device, std::move(bench), heart, work);
}

void kernels_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                   StageWork& work) {
  measure::KernelBenchOptions bench = bench_options(device, context);
  heart.step("opening the sensors of " + device.id());
  const auto sensors = std::make_shared<LoadSensors>(std::vector<Device>{device}, context.root,
                                                     context.sensor_patience);
  if (sensors->can_read(device.id())) {
    bench.clock_hz = [sensors, id = device.id()] { return sensors->clock_hz(id); };
  }
  bench.names = {"stream-triad", "fma", "gemm"};
  bench.dtypes = {"f32", "f16"};
  if (context.level == CheckLevel::prolog) {
    bench.names = {"stream-triad"};
    bench.dtypes = {"f32"};
  }
  if (context.level > CheckLevel::quick) {
    bench.names = {"stream", "latency", "units", "compute", "model"};
    bench.dtypes.clear();
  }
  if (!context.kernels.empty()) bench.names = context.kernels;
  if (context.level == CheckLevel::extended) bench.soak_s = 10;
  run_bench("kernels", kernel_action, device, std::move(bench), heart, work);
  std::string limits;
  for (const std::string& reason : sensors->reasons(device.id())) {
    if (!hip::is_hardware_slowdown(reason)) limits += (limits.empty() ? "" : ", ") + reason;
  }
  if (!limits.empty()) work.add_figure("clocks held down: " + limits);
  add_slowdown(device.id(), sensors->reasons(device.id()), work);
}

void operations_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                      StageWork& work) {
  measure::SweepOptions sweep;
  sweep.cancel = context.cancel;
  if (context.level <= CheckLevel::quick) {
    sweep.names = {"add",  "affine", "sum",          "softmax", "rmsnorm",
                   "rope", "swiglu", "index_select", "matmul"};
    sweep.dtypes = {"f32", "f16", "bf16"};
  }
  if (!context.operations.empty()) sweep.names = context.operations;
  if (context.level != CheckLevel::extended) sweep.arrangements = {measure::Arrangement::packed};
  std::uint64_t cases = 0;
  std::size_t operations = 0;
  heart.step("operation 1 on " + device.id());
  sweep.on_result = [&](std::span<const measure::KernelResult> types, std::size_t done,
                        std::size_t total) {
    heart.step(fmt::format("operation {} of {}, after {}", std::min(done + 1, total), total,
                           types.front().kernel));
    ++operations;
    for (const measure::KernelResult& result : types) {
      cases += result.cases;
      // Right ones have no rate, and would be hundreds.
      if (result.status != measure::Status::ok) {
        add_measured("operations", result,
                     "repeat it with `hiptool run-kernel " + result.kernel +
                         " --sweep quick --device " + device.id() +
                         "`; update the driver, and report it if it is wrong again",
                     work);
      }
    }
  };
  measure::sweep_operations(sweep, device);
  work.add_figure(fmt::format("{}, {}", base::count_of(operations, "operation"),
                              base::count_of(cases, "case")));
}

void libraries_stage(const Device& device, const StageContext& context, Heartbeat& heart,
                     StageWork& work) {
  measure::LibraryOptions options;
  options.cancel = context.cancel;
  options.judge_s = context.level <= CheckLevel::quick ? 0.5 : 2;
  // Calls are short: they are repeated until the noise of their rate is low.
  if (device.is_host_memory() && context.level <= CheckLevel::quick) options.samples = few_samples;
  options.warm_up_s = device.is_host_memory() ? 0 : gpu_warm_up_s;
  for (const measure::ProblemKind kind :
       {measure::ProblemKind::matmul, measure::ProblemKind::conv2d}) {
    std::vector<measure::Problem> problems;
    problems.push_back(usual_problem(kind, device, context));
    const auto large =
        context.level > CheckLevel::quick ? large_product(kind, device, context) : std::nullopt;
    if (large) problems.push_back(*large);
    const std::size_t rated = problems.size();
    if (context.level > CheckLevel::quick) {
      for (const measure::Trap& trap : traps_of(kind)) {
        // Sizes that are given are for a check of little memory and time.
        if (context.size_bytes > 0 && measure::is_large_product(trap.problem)) continue;
        problems.push_back(trap.problem);
      }
    }
    for (const std::string& name : measure::implementations_of(kind, device.platform())) {
      if (!measure::is_library(name)) continue;
      std::size_t right = 0;
      std::string rate;
      for (std::size_t i = 0; i < problems.size(); ++i) {
        measure::Problem problem = problems[i];
        context.cancel->throw_if_cancelled("check");
        measure::fit_trap(problem, device.is_host_memory(), device.memory().free_bytes);
        heart.step(name + " on " + device.id(), 2);
        const measure::LibraryResult result =
            compute_by_library(device, context.child, problem, name, options);
        right += result.status == measure::Status::ok ? 1u : 0u;
        std::string action = "update or reinstall " + name;
        if (!result.library_path.empty()) action += " (" + result.library_path + ")";
        action += "; repeat it with `hiptool run-kernel " + std::string(to_string(kind)) +
                  " --lib " + name + " --device " + device.id() + "`";
        if (i < rated && result.status == measure::Status::ok) {
          rate = figure_text(result);
          work.add(library_measurement(device, context.child, result, options, action));
        } else {
          add_measured("libraries", result, action, work);
        }
      }
      if (right == 0) continue;
      const std::string count = problems.size() > 1 ? fmt::format("{} ", right) : "";
      work.add_figure(fmt::format("{}{} by {}{}{}", count, to_string(kind), name,
                                  rate.empty() ? "" : " ", rate));
    }
  }
}

}  // namespace hiptool::accept
