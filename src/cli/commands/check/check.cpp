// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "base/input_file.hpp"
#include "cli/commands/check/run.hpp"
#include "cli/document.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"
#include "cli/process/rank.hpp"
#include "results/check/report.hpp"

namespace hiptool::cli {
namespace {

int run_check_command(const CheckCommandOptions& options, Context& context) {
  Environment& environment = context.environment;
  accept::CheckOutcome outcome;
  run_check_steps(options, context, outcome);
  outcome.wall_time_s = environment.elapsed_s();
  // A thread that a driver holds would keep the process from its end.
  environment.has_left_threads = outcome.result.has_left_threads;
  if (outcome.error) print_error(environment.console, *outcome.error);
  const bool is_wrong = outcome.error && outcome.error->code() == ErrorCode::data_mismatch;
  report::Run run = make_run(environment, "check", is_wrong ? "mismatch" : "ok");
  const int exit_code = finish_run(run, environment, outcome.error ? &*outcome.error : nullptr,
                                   results::failures_of(outcome), is_wrong);
  context.output.write(results::check_report(std::move(run), outcome));
  return exit_code;
}

Runner add_check(CLI::App& app) {
  auto options = std::make_shared<CheckCommandOptions>();
  begin_group(app, "What to check");
  add_choice(app, "--level", "LEVEL", options->level, {"prolog", "quick", "standard", "long"},
             OptionHelp("amount of work in each stage")
                 .with_details("prolog is for schedulers, before each job")
                 .with_default("quick"));
  add_text(app, "--stage", "LIST", options->stages,
           OptionHelp("only these stages").with_values(accept::names_of_stages()));
  add_text(app, "--model", "PATH", options->model,
           OptionHelp("compute with this model").with_default("a small one that check makes"));
  add_size(app, "--size", options->size_bytes,
           OptionHelp("bytes of copies and arrays").with_default("256 MiB, on cpu 16 and 4 MiB"));
  add_text(app, "--duration", "TIME", options->duration,
           OptionHelp("how long the stage soak takes, at any level")
               .with_details("such as 2s, 10m or 1h")
               .with_default("10m"));
  add_text(app, "--timeout", "SECONDS", options->timeout,
           OptionHelp("time limit of each step")
               .with_details("a step that takes longer is reported as hung")
               .with_default("30"));
  add_text(app, "--peers", "HOSTS", options->peers,
           OptionHelp("hosts of the job for the stage network")
               .with_details("such as node[01-04]")
               .with_default("the hosts of the Slurm job"));
  add_count(app, "--peer-port", options->peer_port,
            OptionHelp("TCP port of each host in the stage network").with_default("29480"), 1024,
            65535);
  begin_group(app, "Rates to expect");
  add_text(app, "--expect", "FILE", options->expect,
           OptionHelp("exit 1 if slower than the rates in this file")
               .with_details("or if a GPU is missing: it also has the number of each kind"));
  add_text(app, "--write-expect", "FILE", options->write_expect,
           OptionHelp("write such a file, if the machine is accepted")
               .with_details("{rank} and {host} are replaced"));
  add_count(app, "--repeat", options->repeats,
            OptionHelp("with --write-expect: runs of the rated stages")
                .with_details("1 to 20; the file has the lowest rates and their spread")
                .with_default("3"),
            1, 20);
  add_text(app, "--margin", "PERCENT", options->margin,
           OptionHelp("with --write-expect: tolerated shortfall")
               .with_details("how far below the written rates a rate may be, such as 10%")
               .with_default("5%"));
  add_text(app, "--spread", "PERCENT", options->spread,
           OptionHelp("how much slower than its siblings a GPU may be").with_default("10%"));
  add_flag(app, "--force", options->force,
           OptionHelp("let --write-expect replace any file")
               .with_details("not only an earlier one of its kind"));
  return {
      [options](Context& context) {
        options->write_expect =
            name_for_this_rank(options->write_expect, context.environment, context.quiet).string();
        return run_check_command(*options, context);
      },
      [options](const Environment& environment) {
        constexpr bool is_quiet = true;  // the run reports the name
        CommandFiles files;
        files.inputs = {{options->expect, "--expect"}, {options->model, "--model"}};
        files.outputs = {{name_for_this_rank(options->write_expect, environment, is_quiet),
                          "--write-expect", [](const std::filesystem::path& path) {
                            return base::names_format(path, "hiptool.expect/");
                          }}};
        files.force = options->force;
        return files;
      }};
}

std::vector<OptionRule> rules_of_check() {
  OptionUse rated{"--stage", accept::names_of_stages(&accept::Stage::is_rated)};
  rated.values.push_back("soak");  // has sizes and siblings, and no rate that a file expects
  const OptionUse leveled{"--stage", accept::names_of_stages(&accept::Stage::has_levels)};
  return {{"--model", {OptionUse{"--stage", {"model"}}}, {}, {"--stage"}},
          {"--duration", {OptionUse{"--stage", {"soak"}}}, {}, {"--stage"}},
          {"--size", {rated}, {}, {"--stage"}},
          {"--spread", {rated}, {}, {"--stage"}},
          {"--level", {leveled}, {}, {"--stage"}},
          {"--repeat", {"--write-expect"}},
          {"--force", {"--write-expect"}}};
}

}  // namespace

Command check_command() {
  return {
      .name = "check",
      .summary = "accept or refuse a machine: all GPUs, all stages, one verdict",
      .description =
          "Accepts or refuses a machine. Every usable GPU passes through the same stages: "
          "drivers and links, copies, memory tests, kernels, operations, vendor libraries and "
          "a small model. The first line says whether the machine is accepted, or which "
          "device failed which stage and why; what to do follows.\n\n"
          "A GPU that is slower than others of its kind on the same machine is reported. For "
          "rates to expect of each kind of GPU write a file with --write-expect on a machine "
          "that is known to be good, and give it to --expect on the others.",
      .examples = {{"hiptool check", "all GPUs, at the quick level"},
                   {"hiptool check --level standard", "more sizes, types and libraries"},
                   {"hiptool check --level prolog", "before a job, in some seconds"},
                   {"hiptool check --stage soak --duration 1h", "all GPUs under load at once"},
                   {"hiptool check --write-expect gpus.json", "on a machine that is known good"},
                   {"hiptool check --expect gpus.json", "on the others: exit 1 if slower"},
                   {"hiptool check --export junit=check.xml", "for a CI page"}},
      .formats = usual_formats,
      .export_formats = benchmark_formats,
      .usual_devices = "all GPUs",
      .add = add_check,
      .rules = rules_of_check(),
  };
}

}  // namespace hiptool::cli
