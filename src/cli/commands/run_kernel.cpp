// SPDX-License-Identifier: MIT
#include "cli/commands/run_kernel.hpp"

#include "cli/commands/run_kernel_user.hpp"
#include "cli/options.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {

Command run_kernel_command() {
  return {
      .name = "run-kernel",
      .summary = "run a kernel of your own, check and time it",
      .examples = {{"hiptool run-kernel --module k.hip ...", "compile and run a kernel"},
                   {"... --name saxpy --grid 4 --block 256", "which, and how often"},
                   {"... --arg f32:2 --arg buf:i32:64:iota", "arguments, in their order"},
                   {"... --out 1:print:8", "show what it wrote"},
                   {"... --expect 1:want.bin", "exit 5 if it differs"},
                   {"... --samples 20", "time it"}},
      .formats = {OutputFormat::table, OutputFormat::json, OutputFormat::csv,
                  OutputFormat::markdown},
      .export_formats = {OutputFormat::html, OutputFormat::svg, OutputFormat::gbench,
                         OutputFormat::gha, OutputFormat::bmf, OutputFormat::junit,
                         OutputFormat::prom},
      .takes_devices = true,
      .has_own_format = false,
      .add = add_run_kernel,
  };
}

Runner add_run_kernel(CLI::App& app) {
  auto options = std::make_shared<RunKernelOptions>();
  add_text(app, "--module", "FILE", options->module,
           "HIP or CUDA text, PTX, cubin, fat binary or AMD code object; the content "
           "decides which");
  add_text(app, "--name", "SYMBOL", options->name, "the kernel, if the file has several");
  add_text(app, "--grid", "X,Y,Z", options->grid, "blocks in the grid; Y and Z are 1 if not given");
  add_text(app, "--block", "X,Y,Z", options->block, "threads in a block");
  add_size(app, "--shared", options->shared_bytes,
           "dynamic shared memory of a block, none if not "
           "given");
  add_texts(app, "--arg", "TYPE:VALUE", options->arguments,
            "next argument: i32:5, f32:2.5 (i8 to u64, f16, bf16, f32, f64) or buf:TYPE:COUNT: "
            "and zeros, iota, random:SEED or file:PATH");
  add_texts(app, "--out", "I:FILE", options->outputs,
            "write buffer I (arguments count from 0) to a file, or I:print:N to show N elements");
  add_texts(app, "--expect", "I:FILE", options->expected, "exit 5 unless buffer I is that file");
  add_text(app, "--tolerance", "T", options->tolerance,
           "of --expect for reals: T times the larger of 1 and the expected; 0 if not given");
  add_count(app, "--samples", options->samples, "timed launches, 1 if not given", 1, 1'000'000);
  return [options](Context& context) { return run_run_kernel(*options, context); };
}

int run_run_kernel(const RunKernelOptions& options, Context& context) {
  if (options.module.empty()) {
    throw Error(ErrorCode::invalid_argument, "run-kernel", "no kernel is given",
                "name a file with --module FILE; see hiptool run-kernel --help");
  }
  return run_user_module(options, context);
}

}  // namespace hiptool::cli
