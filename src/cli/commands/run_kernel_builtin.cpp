// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel_builtin.hpp"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "cli/commands/run_kernel_builtin_report.hpp"
#include "cli/exit_code.hpp"
#include "cli/inventory.hpp"
#include "cli/options.hpp"
#include "hip/sensors.hpp"
#include "hiptool/error.hpp"
#include "hiptool/units.hpp"
#include "measure/kernel_threshold.hpp"

namespace hiptool::cli {
namespace {

using measure::KernelBenchOptions;
using measure::KernelResult;
using measure::KernelStatus;

void read_size(const std::string& text, KernelBenchOptions& bench) {
  if (text.empty()) return;
  if (text.back() != '%') {
    bench.sizes_bytes = parse_sizes(text);
    return;
  }
  double percent = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [rest, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || rest != end || !(percent > 0 && percent <= 100)) {
    throw Error(ErrorCode::invalid_argument, "read size",
                "--size '" + text + "' is no share of the memory", "write --size 80%");
  }
  bench.memory_share = percent / 100;
}

KernelBenchOptions read_options(const BuiltinKernelOptions& options, Context& context) {
  KernelBenchOptions bench;
  bench.names = options.names;
  for (const std::string& list : options.dtypes) {
    for (std::string& dtype : split_list(list, "--dtype")) bench.dtypes.push_back(std::move(dtype));
  }
  read_size(options.size, bench);
  if (options.samples > 0) bench.samples = options.samples;
  bench.soak_s = static_cast<double>(options.seconds);
  bench.cancel = &context.environment.cancel;
  return bench;
}

std::vector<KernelResult> run_on(const Device& device, KernelBenchOptions bench, Context& context) {
  const DeviceFacts facts = read_facts(device, context.environment.system_root, *context.notes);
  if (const auto peak = memory_peak(facts)) {
    bench.memory_peak = measure::Peak{peak->bytes_per_s, peak->source};
  }
  const hip::SensorLibrary sensors =
      hip::open_sensors(device.platform(), context.environment.system_root);
  if (sensors.sensors && facts.info.pci_bus_id) {
    bench.clock_hz = [&] { return sensors.sensors->read(*facts.info.pci_bus_id).clock_hz; };
  }
  return measure::run_kernels(bench, device);
}

bool has(const std::vector<KernelResult>& results, KernelStatus status) {
  return std::any_of(results.begin(), results.end(),
                     [&](const KernelResult& result) { return result.status == status; });
}

}  // namespace

int run_builtin_kernels(const BuiltinKernelOptions& options, Context& context) {
  if (options.list) {
    context.output.write(kernel_list_report(context.environment, measure::list_kernels()));
    return exit_done;
  }
  const KernelBenchOptions bench = read_options(options, context);
  std::vector<measure::KernelThreshold> thresholds;
  for (const std::string& text : options.fail_below) {
    thresholds.push_back(measure::parse_kernel_threshold(text));
  }
  const auto platforms = context.make_platforms();
  std::vector<KernelResult> results;
  for (const Device& device : choose_devices(*platforms, context.devices)) {
    if (context.environment.cancel.is_cancelled()) break;
    for (KernelResult& result : run_on(device, bench, context)) {
      results.push_back(std::move(result));
    }
  }
  const bool is_interrupted = context.environment.cancel.is_cancelled();
  std::vector<std::string> missed;
  for (const measure::KernelThreshold& threshold : thresholds) {
    if (is_interrupted) break;  // it may name what was not reached
    std::string below = measure::judge_threshold(threshold, results);
    if (!below.empty()) missed.push_back(std::move(below));
  }
  context.output.write(kernel_results_report(context.environment, results, missed, is_interrupted));
  if (has(results, KernelStatus::mismatch)) return exit_code_of(ErrorCode::data_mismatch);
  if (is_interrupted) {
    return exit_code_of(ErrorCode::cancelled, context.environment.signal());
  }
  if (has(results, KernelStatus::failed)) return exit_code_of(ErrorCode::device);
  return missed.empty() ? exit_done : exit_check_failed;
}

}  // namespace hiptool::cli
