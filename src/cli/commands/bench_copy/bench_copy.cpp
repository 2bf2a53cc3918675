// SPDX-License-Identifier: MIT
#include "cli/commands/bench_copy/run.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "hiptool/error.hpp"
#include "measure/copy/plan.hpp"
#include "measure/copy/spec.hpp"

namespace hiptool::cli {
namespace {

using measure::CopyResult;
using report::Status;

// The first measurement that failed.
std::optional<Error> failed_measurement(const results::BenchCopyOutcome& outcome) {
  for (const CopyResult& result : outcome.results) {
    if (result.error) return result.error;
  }
  return std::nullopt;
}

int run_bench_copy(const BenchCopyOptions& options, Context& context) {
  Environment& environment = context.environment;
  if (options.repeat.repeats > 0) {
    parse_bench_copy(options);  // refuses wrong ones before anything runs
    if (!options.baseline.empty()) results::read_baseline(options.baseline, environment.cancel);
    return run_repeated("bench-copy", options.repeat,
                        {options.compare, options.baseline, options.strict_baseline}, context);
  }
  results::BenchCopyOutcome outcome;
  try {
    run_bench_copy_steps(options, context, outcome);
    outcome.error = failed_measurement(outcome);
    if (!outcome.error) outcome.error = results::nothing_measured(outcome);
  } catch (const Error& error) {
    if (outcome.results.empty()) throw;
    outcome.error = error;
  }
  outcome.wall_time_s = environment.elapsed_s();
  if (outcome.error) print_error(environment.console, *outcome.error);
  const bool is_wrong = outcome.count(Status::mismatch) > 0;
  report::Run run = make_run(environment, "bench-copy", is_wrong ? "mismatch" : "ok");
  const int exit_code = finish_run(run, environment, outcome.error ? &*outcome.error : nullptr,
                                   failures_of(outcome), is_wrong);
  context.output.write(
      results::bench_copy_report(std::move(run), outcome, environment.console.has_unicode()));
  return exit_code;
}

Runner add_bench_copy(CLI::App& app) {
  auto options = std::make_shared<BenchCopyOptions>();
  add_text(app, "--kind", "LIST", options->kinds,
           "copies: h2d, d2h, d2d, bidir, p2p-read, p2p-write, p2p-bidir, h2d-all, "
           "d2h-all, one-to-all, all-to-one, all-to-all");
  add_text(app, "--memory", "LIST", options->memories,
           "host memory: pinned, pageable, registered, managed");
  add_text(app, "--engine", "LIST", options->engines, "copy engine (copy) or a kernel (kernel)");
  add_text(app, "--size", "SIZES", options->sizes, "64MiB, a list 4K,1M or a range 4KiB..1GiB");
  add_choice(app, "--level,--preset", "LEVEL", options->preset, {"quick", "full", "ci"},
             "amount of work; ci takes less than a minute");
  add_count(app, "--samples", options->samples, "exact number of samples of each measurement", 1,
            100000);
  add_text(app, "--time", "SECONDS", options->time, "time limit of each measurement");
  add_texts(app, "--testcase", "LIST", options->testcases, "test cases by nvbandwidth's names");
  add_texts(app, "--fail-below", "THRESHOLD", options->thresholds,
            "'h2d.pinned>=48GB/s', 'h2d.pinned>=90%' of the limit, for latencies an upper limit, "
            "'h2d.latency<=20us', or @FILE; exit 1 if missed; see hiptool help thresholds");
  add_text(app, "--retry", "K/N", options->retry,
           "a threshold is met when K of at most N measurements meet it");
  add_text(app, "--baseline", "FILE", options->baseline,
           "compare with an earlier JSON document; exit 1 if slower or nothing is in both");
  add_flag(app, "--strict-baseline", options->strict_baseline,
           "exit 1 also if the baseline or this run lacks a measurement of the other");
  add_compare_options(app, options->compare, "of --baseline and --against: ");
  add_repeat_options(app, options->repeat);
  return {[options](Context& context) { return run_bench_copy(*options, context); },
          [options](const Environment&) {
            CommandFiles files;
            files.inputs = threshold_files(options->thresholds);
            files.inputs.push_back({options->baseline, "--baseline"});
            return files;
          }};
}

std::vector<CompletionWords> words_of_bench_copy() {
  return {{"--kind", measure::copy_kind_names()},
          {"--memory", measure::host_kind_names()},
          {"--engine", measure::copy_engine_names()},
          {"--testcase", measure::testcase_names()}};
}

}  // namespace

Command bench_copy_command() {
  return {
      .name = "bench-copy",
      .summary = "measure how fast copies are, and check their data",
      .description =
          "Measures copies between host memory and a device, within a device and between "
          "devices. The device's events time each copy, and the data of every sample is "
          "checked. Each rate is shown with the limit that it is compared with and the source "
          "of that limit.\n\n"
          "Without options the discrete GPU with the most memory is measured with pinned host "
          "memory in a few seconds. --fail-below and --baseline turn the measurement into a test: "
          "exit 1 if a "
          "rate is too low.",
      .examples = {{"hiptool bench-copy", "the largest GPU, in seconds"},
                   {"hiptool bench-copy --kind h2d --size 4KiB..1GiB", "over many sizes"},
                   {"hiptool bench-copy --kind p2p-write", "between all GPUs"},
                   {"hiptool bench-copy --device all", "each GPU by itself"},
                   {"hiptool bench-copy --fail-below 'h2d>=48GB/s'", "exit 1 if slower"},
                   {"hiptool bench-copy --export json=now.json", "for --baseline later"},
                   {"hiptool bench-copy --repeat 16 --effect auto \\", "find changes of 2 %"},
                   {"  --against ./hiptool-old", "by another version"}},
      .formats = usual_formats,
      .export_formats = benchmark_formats,
      .takes_devices = true,
      .add = add_bench_copy,
      .rules = rules_of_repeat("--baseline"),
      .completion_words = words_of_bench_copy,
  };
}

}  // namespace hiptool::cli
