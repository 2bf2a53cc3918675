// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/run_kernel/words.hpp"
#include "cli/environment.hpp"
#include "measure/kernel_bench.hpp"
#include "report/report.hpp"
#include "user_kernel/user_kernel.hpp"

namespace hiptool::cli {

/// The result of the user's kernel on one device.
struct UserKernelOutcome {
  std::string kernel;
  std::string device;
  std::string image;  ///< "PTX source", "compiled for sm_90"
  user_kernel::UserKernelResult result;
};

/// `outputs` are in the order of the run's.
report::Report user_kernel_report(const Environment& environment,
                                  const user_kernel::UserKernelRun& run,
                                  const std::vector<OutputWord>& outputs,
                                  const std::vector<UserKernelOutcome>& outcomes);

// ---- builtin_report.cpp

/// The report of --list.
report::Report kernel_list_report(const Environment& environment,
                                  const std::vector<measure::KernelFamily>& families);

/// Everything a run of built-in kernels found out.
struct BuiltinOutcome {
  std::vector<measure::KernelResult> results;
  std::vector<report::ThresholdResult> thresholds;
  std::optional<Error> error;  ///< that ended the run or a kernel
  std::uint64_t seed = 1;      ///< of the data of operations
  std::string sweep;           ///< "quick" or "full"; empty: a timed run

  std::size_t count(report::Status wanted) const { return report::count_status(results, wanted); }
  bool is_interrupted() const { return error && error->code() == ErrorCode::cancelled; }
};

/// One result in a line: "stream-triad.f32.1GiB@nvidia:0: 3.95 TB/s, 82 % of peak".
std::string describe_result(const measure::KernelResult& result);

/// `run` has its verdict.
report::Report kernel_results_report(report::Run run, const BuiltinOutcome& outcome);

/// Writes the report that `make` makes and returns the exit code; sets the outcome's error.
/// `unjudged` is of a threshold that could not be judged.
int write_results(Context& context, BuiltinOutcome& outcome, const std::optional<Error>& unjudged,
                  report::Report (*make)(report::Run, const BuiltinOutcome&));

// ---- sweep_report.cpp

/// "add: 10 types, 10 layouts, 280 cases: right"
std::string describe_operation(std::span<const measure::KernelResult> types);

/// `run` has its verdict.
report::Report sweep_report(report::Run run, const BuiltinOutcome& outcome);

}  // namespace hiptool::cli
