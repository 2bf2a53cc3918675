// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <utility>

#include "accept/soak_together.hpp"
#include "cli/commands/run_kernel/run_kernel.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/output/ticker.hpp"

namespace hiptool::cli {

void check_together(const RunKernelOptions& options) {
  const std::pair<const char*, bool> others[] = {{"--samples", options.samples > 0},
                                                 {"--shape", !options.shape.empty()},
                                                 {"--layout", !options.layouts.empty()},
                                                 {"--sweep", options.sweep.has_value()},
                                                 {"--lib", !options.libraries.empty()},
                                                 {"--shapes", !options.shapes.empty()},
                                                 {"--transpose", options.transpose.has_value()},
                                                 {"--batch", options.batch > 0},
                                                 {"--compute", options.compute.has_value()}};
  for (const auto& [option, is_given] : others) {
    if (!is_given) continue;
    throw usage_error(fmt::format("{} does not go with --together", option),
                      "leave out one of the two");
  }
  if (!options.size.empty() && options.size.back() == '%') {
    throw usage_error("--size as a share does not go with --together",
                      "write a size, such as --size 1GiB");
  }
}

void run_kernels_together(const RunKernelOptions& options, const measure::KernelBenchOptions& bench,
                          const std::vector<Device>& devices, Context& context,
                          results::BuiltinOutcome& outcome) {
  accept::TogetherOptions together;
  together.bench = bench;
  if (!options.time.empty()) together.time_s = parse_seconds(options.time, "--time", 1e6);
  Ticker ticker(context.environment.console, context.quiet);
  together.on_progress = [&ticker](const std::string& kernel, const auto& devices_now) {
    ticker.tell([&] {
      std::string line = kernel;
      const char* separator = ": ";
      for (const auto& [device, text] : devices_now) {
        line += separator + device + " " + text;
        separator = "; ";
      }
      return line;
    });
  };
  accept::TogetherResult result = run_together(devices, together);
  context.environment.has_left_threads = result.has_left_threads;
  outcome.is_together = true;
  outcome.results = std::move(result.results);
  outcome.soaked = std::move(result.soaked);
  outcome.faults = std::move(result.faults);
}

}  // namespace hiptool::cli
