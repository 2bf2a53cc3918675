// SPDX-License-Identifier: MIT
// `run-kernel ops`: every operation judged, none timed.
#include "measure/ops/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.hpp"
#include "base/suggest.hpp"
#include "cli/commands/run_kernel/run_kernel.hpp"
#include "cli/commands/run_kernel/words.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "hiptool/error.hpp"
#include "report/text.hpp"
#include "results/run_kernel/report.hpp"

namespace hiptool::cli {
namespace {

using measure::OperationEntry;
using measure::SweepOptions;

/// Options of timed runs.
std::vector<std::pair<const char*, bool>> timing_options(const RunKernelOptions& options) {
  return {{"--shape", !options.shape.empty()},
          {"--size", !options.size.empty()},
          {"--samples", options.samples > 0},
          {"--time", !options.time.empty()},
          {"--fail-below", !options.fail_below.empty()}};
}

void check_sweep_words(SweepOptions& sweep) {
  std::vector<std::string> names{"ops"};
  std::vector<std::string> types;
  for (const OperationEntry& operation : measure::operations()) {
    base::add_once(names, operation.name);
    base::add_once(names, operation.group);
    for (const DType dtype : operation.dtypes) base::add_once(types, std::string(to_string(dtype)));
  }
  for (const std::string& name : sweep.names) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto kernels = measure::list_kernels();
    const bool is_kernel =
        name == "all" ||
        std::any_of(kernels.begin(), kernels.end(), [&](const measure::KernelFamily& one) {
          return !one.is_operation && (one.name == name || one.group == name);
        });
    if (is_kernel) {
      throw usage_error(fmt::format("'{}' is a kernel, not an operation", name),
                        "run it on its own: hiptool run-kernel " + name);
    }
    const std::string hint = base::suggestion(name, names);
    throw Error(ErrorCode::not_found, "run-kernel", "unknown operation '" + name + "'",
                hint.empty() ? "hiptool run-kernel --list names them" : hint);
  }
  for (std::string& dtype : sweep.dtypes) dtype = choice_of(dtype, types, "--dtype");
}

SweepOptions read_sweep(const RunKernelOptions& options, Context& context) {
  for (const auto& [name, is_given] : timing_options(options)) {
    if (!is_given) continue;
    throw usage_error(fmt::format("{} applies to timed runs, and --sweep times nothing", name),
                      "leave out one of the two");
  }
  SweepOptions sweep;
  sweep.names = options.names;
  for (const std::string& list : options.dtypes) {
    for (std::string& dtype : split_list(list, "--dtype")) sweep.dtypes.push_back(std::move(dtype));
  }
  check_sweep_words(sweep);
  sweep.arrangements = parse_layouts(options.layouts, false);
  sweep.sweep = options.sweep == "full" ? measure::Sweep::full : measure::Sweep::quick;
  sweep.seed = parse_seed(options.seed);
  sweep.cancel = &context.environment.cancel;
  sweep.on_result = [&context](std::span<const measure::KernelResult> types, std::size_t done,
                               std::size_t total) {
    if (context.quiet) return;
    Console& console = context.environment.console;
    console.err(fmt::format("[{}/{}] {}\n", done, total,
                            report::printable_lines(results::describe_operation(types))));
    console.set_step("checking operations", fmt::format("{} of {} done", done, total));
  };
  return sweep;
}

}  // namespace

bool is_sweep(const RunKernelOptions& options) {
  if (options.list) return false;
  if (options.sweep) return true;
  const auto& names = options.names;
  const auto timing = timing_options(options);
  return std::find(names.begin(), names.end(), "ops") != names.end() &&
         std::none_of(timing.begin(), timing.end(), [](const auto& one) { return one.second; });
}

int run_sweep(const RunKernelOptions& options, Context& context) {
  const SweepOptions sweep = read_sweep(options, context);
  measure::chosen_operations(sweep);  // rejects wrong options before a driver is opened
  const auto platforms = context.make_platforms();
  results::BuiltinOutcome outcome;
  outcome.seed = sweep.seed;
  outcome.sweep = sweep.sweep == measure::Sweep::full ? "full" : "quick";
  for (const Device& device : context.choose_devices(*platforms)) {
    if (context.environment.cancel.is_cancelled()) break;
    context.environment.console.set_step("checking operations");
    for (measure::KernelResult& result : measure::sweep_operations(sweep, device)) {
      outcome.results.push_back(std::move(result));
    }
  }
  return write_results(context, outcome, std::nullopt, &results::sweep_report);
}

}  // namespace hiptool::cli
