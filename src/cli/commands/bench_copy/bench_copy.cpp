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
  begin_group(app, "What to copy");
  add_text(app, "--kind", "LIST", options->kinds,
           OptionHelp("directions of the copies").with_values(measure::copy_kind_names()));
  add_text(
      app, "--memory", "LIST", options->memories,
      OptionHelp("host memory").with_values(measure::host_kind_names()).with_default("pinned"));
  add_text(app, "--engine", "LIST", options->engines,
           OptionHelp("what copies: a copy engine or a kernel")
               .with_values(measure::copy_engine_names())
               .with_default("copy"));
  add_text(app, "--size", "SIZES", options->sizes,
           OptionHelp("64MiB, a list 4K,1M or a range 4KiB..1GiB")
               .with_default("256 MiB, of test cases 512 MiB, on cpu 16 MiB"));
  add_texts(app, "--testcase", "LIST", options->testcases, "test cases by nvbandwidth's names");
  begin_group(app, "How long");
  add_choice(app, "--level,--preset", "LEVEL", options->preset, {"quick", "full", "ci"},
             OptionHelp("amount of work")
                 .with_details("full takes five sizes up to the default, ci less than a minute")
                 .with_default("quick"));
  add_count(app, "--samples", options->samples, "exact number of samples of each measurement", 1,
            100000);
  add_text(app, "--time", "SECONDS", options->time, "time limit of each measurement");
  begin_group(app, "Exit 1 if slower");
  add_texts(app, "--fail-below", "THRESHOLD", options->thresholds,
            OptionHelp("such as 'h2d.pinned>=48GB/s'; see hiptool help thresholds")
                .with_details("'h2d.pinned>=90%' of the limit; for latencies an upper limit, "
                              "'h2d.latency<=20us'; or @FILE"));
  add_text(app, "--retry", "K/N", options->retry, "pass if K of at most N measurements pass");
  add_text(app, "--baseline", "FILE", options->baseline,
           OptionHelp("compare with an earlier JSON document")
               .with_details("exit 1 too if no measurement is in both"));
  add_flag(app, "--strict-baseline", options->strict_baseline,
           "exit 1 also if one has a measurement that the other lacks");
  begin_group(app, "Compare two versions");
  add_repeat_options(app, options->repeat);
  add_compare_options(app, options->compare, "with --baseline, --against");
  return {[options](Context& context) { return run_bench_copy(*options, context); },
          [options](const Environment&) {
            CommandFiles files;
            files.inputs = threshold_files(options->thresholds);
            files.inputs.push_back({options->baseline, "--baseline"});
            return files;
          }};
}

std::vector<CompletionWords> words_of_bench_copy() {
  return {{"--testcase", measure::testcase_names()}};
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
      .usual_devices = "largest GPU, all for copies between GPUs",
      .add = add_bench_copy,
      .rules = rules_of_repeat("--baseline"),
      .completion_words = words_of_bench_copy,
  };
}

}  // namespace hiptool::cli
