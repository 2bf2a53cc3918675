// SPDX-License-Identifier: MIT
#include "base/contains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/commands/run_kernel/run_kernel.hpp"
#include "cli/commands/run_kernel/words.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/ticker.hpp"
#include "hip/patient_sensors.hpp"
#include "hiptool/error.hpp"
#include "machine/inventory.hpp"
#include "measure/kernel_thresholds.hpp"
#include "measure/peak.hpp"
#include "report/text.hpp"
#include "results/run_kernel/report.hpp"

namespace hiptool::cli {
namespace {

using measure::KernelBenchOptions;
using measure::KernelFamily;
using measure::KernelResult;
using measure::Threshold;
using measure::ThresholdKind;
using report::Status;

void read_size(const std::string& text, KernelBenchOptions& bench) {
  if (text.empty()) return;
  if (text.back() != '%') {
    for (const std::uint64_t size : parse_sizes_of("--size", text)) {
      base::add_once(bench.sizes_bytes, size);
    }
    return;
  }
  const auto percent =
      base::parse_number<double>(std::string_view(text).substr(0, text.size() - 1));
  if (!percent || !(*percent > 0 && *percent <= 100)) {
    throw Error(ErrorCode::invalid_argument, "read size",
                "--size '" + text + "' is not a share of the memory", "write --size 80%");
  }
  bench.memory_share = *percent / 100;
}

/// Rejects unknown families, groups and types and suggests the nearest name.
void check_words(KernelBenchOptions& bench) {
  std::vector<std::string> names{"all", "ops"};
  std::vector<std::string> dtypes;
  for (const KernelFamily& family : measure::list_kernels()) {
    names.push_back(family.name);
    names.push_back(family.group);
    dtypes.insert(dtypes.end(), family.dtypes.begin(), family.dtypes.end());
  }
  for (auto* const list : {&names, &dtypes}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  for (const std::string& name : bench.names) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::error_code ignored;
    const std::string hint = std::filesystem::exists(name, ignored)
                                 ? "a kernel of your own is given by --module " + name
                                 : base::suggestion(name, names);
    throw Error(ErrorCode::not_found, "run-kernel", "unknown kernel '" + name + "'",
                hint.empty() ? "hiptool run-kernel --list names them" : hint);
  }
  for (std::string& dtype : bench.dtypes) dtype = choice_of(dtype, dtypes, "--dtype");
}

/// Rejects options of operations where another kernel was chosen.
void check_operation_options(const RunKernelOptions& options, const KernelBenchOptions& bench) {
  const char* const given = !options.shape.empty()     ? "--shape"
                            : !options.layouts.empty() ? "--layout"
                            : !options.seed.empty()    ? "--seed"
                                                       : nullptr;
  if (given == nullptr) return;
  if (!options.shape.empty() && !options.size.empty()) {
    throw usage_error("--shape and --size both say how large the inputs are",
                      "leave out one of the two");
  }
  for (const KernelFamily& family : measure::chosen_kernels(bench)) {
    if (family.is_operation) continue;
    throw usage_error(
        fmt::format("{} applies to operations, but {} is a built-in kernel", given, family.name),
        "hiptool run-kernel --list names both; kernels take --size");
  }
}

KernelBenchOptions read_options(const RunKernelOptions& options, Context& context) {
  KernelBenchOptions bench;
  bench.names = options.names;
  for (const std::string& list : options.dtypes) {
    for (std::string& dtype : split_list(list, "--dtype")) bench.dtypes.push_back(std::move(dtype));
  }
  check_words(bench);
  read_size(options.size, bench);
  bench.shape = parse_shape(options.shape);
  for (const measure::Arrangement one : parse_layouts(options.layouts, true)) {
    bench.layouts.emplace_back(to_string(one));
  }
  bench.seed = parse_seed(options.seed);
  check_operation_options(options, bench);
  if (options.samples > 0) bench.samples = options.samples;
  if (!options.time.empty()) bench.soak_s = parse_seconds(options.time, "--time", 1e6);
  bench.cancel = &context.environment.cancel;
  return bench;
}

/// A line for each result, on err.
void tell_progress(Context& context, const KernelResult& result, std::size_t done,
                   std::size_t total) {
  if (context.quiet) return;
  context.environment.console.err(fmt::format(
      "[{}/{}] {}\n", done, total, report::printable_lines(results::describe_result(result))));
}

void run_on(const Device& device, KernelBenchOptions bench, Context& context, Ticker& ticker,
            std::vector<KernelResult>& results) {
  const std::string step = "measuring kernels on " + device.id();
  context.environment.console.set_step(step);
  const machine::DeviceFacts facts =
      machine::read_facts(device, context.environment.system_root, *context.notes);
  if (const auto peak = measure::memory_peak(facts.platform, facts.info)) {
    bench.memory_peak = measure::Peak{peak->bytes_per_s, peak->source};
  }
  const hip::SensorLibrary sensors =
      hip::open_patient_sensors(device.platform(), context.environment.system_root);
  if (sensors.sensors && facts.info.pci_bus_id) {
    bench.clock_hz = [&] { return sensors.sensors->read(*facts.info.pci_bus_id).clock_hz; };
  }
  bench.on_progress = [&ticker](const measure::KernelProgress& now) {
    ticker.tell([&now] { return results::describe_progress(now); });
  };
  bench.on_result = [&](const KernelResult& result, std::size_t done, std::size_t total) {
    ticker.clear();
    tell_progress(context, result, done, total);
    context.environment.console.set_step(step, fmt::format("{} of {} done", done, total));
  };
  for (KernelResult& result : measure::run_kernels(bench, device)) {
    results.push_back(std::move(result));
  }
}

bool has_run(const results::BuiltinOutcome& outcome) {
  return outcome.count(Status::skipped) < outcome.results.size();
}

/// Why no kernel could be run.
Error nothing_run(const std::vector<KernelResult>& results) {
  constexpr std::size_t most_reasons = 3;
  for (const KernelResult& result : results) {
    if (!result.error) continue;
    const ErrorCode code = result.error->code();
    // The size is wrong for all that were chosen, or the device is too small.
    if (code == ErrorCode::out_of_memory || code == ErrorCode::invalid_argument) {
      return *result.error;
    }
  }
  const std::vector<std::string> reasons = report::distinct_reasons(results);
  return Error(
      ErrorCode::unavailable, "run-kernel",
      fmt::format("no kernel was run: {} skipped: {}{}", base::count_of(results.size(), "kernel"),
                  base::first_of(reasons, most_reasons, "; "),
                  reasons.size() > most_reasons ? " reasons" : ""),
      "choose other kernels, types or devices; hiptool run-kernel --list names the kernels");
}

/// `unjudged` is a threshold that could not be judged.
std::optional<Error> find_error(const results::BuiltinOutcome& outcome, const CancelToken& cancel,
                                const std::optional<Error>& unjudged) {
  if (cancel.is_cancelled()) return Error(ErrorCode::cancelled, "run-kernel", "interrupted");
  for (const KernelResult& result : outcome.results) {
    if (result.status == Status::failed) return result.error;
  }
  return has_run(outcome) ? unjudged : nothing_run(outcome.results);
}

}  // namespace

int write_results(Context& context, results::BuiltinOutcome& outcome,
                  const std::optional<Error>& unjudged,
                  report::Report (*make)(report::Run, const results::BuiltinOutcome&)) {
  Environment& environment = context.environment;
  const bool is_wrong = outcome.count(Status::mismatch) > 0;
  if (!is_wrong) outcome.error = find_error(outcome, environment.cancel, unjudged);
  if (outcome.error && !outcome.is_interrupted()) print_error(environment.console, *outcome.error);
  report::Run run = make_run(environment, "run-kernel", is_wrong ? "mismatch" : "ok");
  const int exit_code = finish_run(run, environment, outcome.error ? &*outcome.error : nullptr,
                                   results::failures_of(outcome), is_wrong);
  context.output.write(make(std::move(run), outcome));
  return exit_code;
}

int run_builtin_kernels(const RunKernelOptions& options, Context& context) {
  if (options.list) {
    report::Run run = make_run(context.environment, "run-kernel", "ok");
    finish_run(run, context.environment, nullptr);
    context.output.write(results::kernel_list_report(std::move(run), measure::list_kernels()));
    return exit_done;
  }
  const KernelBenchOptions bench = read_options(options, context);
  measure::chosen_kernels(bench);  // rejects wrong options before a driver is opened
  require_named(measure::plain_thresholds(options.fail_below, ThresholdKind::kernels), bench);
  const std::shared_ptr<Platforms> platforms = context.make_platforms();
  const std::vector<Device> devices = context.choose_devices(*platforms);
  const std::vector<Threshold> thresholds = measure::collect_thresholds(
      options.fail_below, devices, ThresholdKind::kernels, &context.environment.cancel);
  require_named(thresholds, bench);  // also thresholds from files
  results::BuiltinOutcome outcome;
  outcome.seed = bench.seed;
  Ticker ticker(context.environment.console, context.quiet);
  if (options.together) run_kernels_together(options, bench, devices, context, outcome);
  // Threads that a driver holds go on using the platforms.
  Environment& environment = context.environment;
  if (environment.has_left_threads && environment.keep) environment.keep(platforms);
  for (const Device& device : devices) {
    if (options.together || context.environment.cancel.is_cancelled()) break;
    run_on(device, bench, context, ticker, outcome.results);
  }
  ticker.clear();
  std::optional<Error> unjudged;
  for (const Threshold& threshold : thresholds) {
    // It may name kernels that were not reached or could not be run.
    if (context.environment.cancel.is_cancelled() || !has_run(outcome)) break;
    try {
      outcome.thresholds.push_back(measure::judge_threshold(threshold, outcome.results));
    } catch (const Error& error) {
      if (!unjudged) unjudged = error;  // reported with the results
    }
  }
  return write_results(context, outcome, unjudged, &results::kernel_results_report);
}

}  // namespace hiptool::cli
