// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/compare_options.hpp"
#include "cli/repeat.hpp"
#include "results/run_kernel/report.hpp"

namespace hiptool::cli {

struct RunKernelOptions {
  // The built-in kernels.
  std::vector<std::string> names;   ///< families, operations, groups, "all" or "ops"
  bool list = false;                ///< only names the kernels, with `module` those in that file
  std::vector<std::string> dtypes;  ///< comma-separated lists
  std::string size;                 ///< sizes, or a share of the free memory: "80%"
  std::string time;                 ///< seconds that each is repeated; empty: it runs once
  bool together = false;            ///< on all devices at the same time
  std::vector<std::string> fail_below;
  // Operations.
  std::string shape;                 ///< "4096x4096", of conv2d "n8c64h56w56:k64r3s3"
  std::vector<std::string> layouts;  ///< comma-separated lists
  std::optional<std::string> sweep;  ///< "quick" or "full"
  std::string seed;                  ///< a whole number; empty: 1; of the user's own: also repeats
  // Matrix products and convolutions.
  std::vector<std::string> libraries;    ///< comma-separated lists: "own", "cublas", "all"
  std::string shapes;                    ///< "traps" or a file
  std::optional<std::string> transpose;  ///< "tn"
  std::uint64_t batch = 0;               ///< 0: 1
  std::optional<std::string> compute;    ///< "f32", "tf32" or "f16"
  // The user's own.
  std::string module;  ///< the user's file
  std::string name;    ///< empty: the only kernel in it
  std::string grid;    ///< "X[,Y[,Z]]"
  std::string block;
  std::uint64_t shared_bytes = 0;
  std::vector<std::string> arguments;
  std::vector<std::string> outputs;   ///< "I:print:N" or "I:FILE"
  std::vector<std::string> expected;  ///< "I:FILE"
  std::string tolerance;              ///< "1e-6", or "rtol=1e-3,atol=1e-6"
  std::optional<std::string> cache;   ///< "cold" or "warm"
  std::uint64_t bytes = 0;  ///< that a launch moves, for a rate; 0: unknown, as the next one
  std::uint64_t flops = 0;
  // Of both.
  std::uint64_t samples = 0;  ///< 0: one of the user's kernel, as many as it takes of built-in ones
  RepeatOptions repeat;
  CompareOptions compare;
};

/// Runs them on the chosen devices and writes the report, or their list. Returns 0, 1 for a missed
/// threshold, or the code of a mismatch, a failed call or an interruption. Throws
/// Error(invalid_argument) and Error(not_found) before anything runs.
int run_builtin_kernels(const RunKernelOptions& options, Context& context);

/// Runs kernels on all devices at the same time and judges the devices. Blocks. Throws a usage
/// error for options that do not go with --together.
void run_kernels_together(const RunKernelOptions& options, const measure::KernelBenchOptions& bench,
                          const std::vector<Device>& devices, Context& context,
                          results::BuiltinOutcome& outcome);
/// The same usage errors, before a driver is opened.
void check_together(const RunKernelOptions& options);

/// Whether the options ask for operations to be judged without being timed.
bool is_sweep(const RunKernelOptions& options);

/// Judges the chosen operations on the chosen devices; else as run_builtin_kernels.
int run_sweep(const RunKernelOptions& options, Context& context);

/// Whether the options ask for matrix products or convolutions side by side with libraries.
bool is_library_run(const RunKernelOptions& options);

/// Judges and rates them with our kernels and libraries; else as run_builtin_kernels.
int run_libraries(const RunKernelOptions& options, Context& context);

/// Writes the signatures of the kernels of --module and a command for each; opens no device.
int list_user_module(const RunKernelOptions& options, Context& context);

/// Runs the kernel of --module on every chosen device.
int run_user_module(const RunKernelOptions& options, Context& context);

/// Writes the report that `make` makes and returns the exit code; sets the outcome's error.
/// `unjudged` is of a threshold that could not be judged.
int write_results(Context& context, results::BuiltinOutcome& outcome,
                  const std::optional<Error>& unjudged,
                  report::Report (*make)(report::Run, const results::BuiltinOutcome&));

}  // namespace hiptool::cli
