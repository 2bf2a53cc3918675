// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accept/soak.hpp"
#include "base/contains.hpp"
#include "base/text.hpp"
#include "measure/kernel_bench.hpp"
#include "report/report.hpp"
#include "user_kernel/user_kernel.hpp"

namespace hiptool::results {

/// What is done with an argument of the user's kernel after it ran.
struct OutputWord {
  std::size_t argument = 0;
  std::optional<std::uint64_t> print_count;
  std::string file;  ///< empty: it is printed
};
/// The result of the user's kernel on one device.
struct UserKernelOutcome {
  std::string kernel;
  std::string device;
  std::string image;  ///< "PTX source", "compiled for sm_90"
  user_kernel::UserKernelResult result;
};

/// One for each device with a wrong result.
std::vector<report::Failure> failures_of(const user_kernel::UserKernelRun& run,
                                         const std::vector<OutputWord>& outputs,
                                         const std::vector<UserKernelOutcome>& outcomes);

/// `head` has its verdict; `outputs` are in the order of the run's. An interrupted run has the
/// devices that had a result by then.
report::Report user_kernel_report(report::Run head, const user_kernel::UserKernelRun& run,
                                  const std::vector<OutputWord>& outputs,
                                  const std::vector<UserKernelOutcome>& outcomes,
                                  bool is_interrupted);

/// "cpu:0-1": the devices that were used.
template <class Results>
std::string devices_of(const Results& results) {
  std::vector<std::string> devices;
  for (const auto& result : results) base::add_once(devices, result.destination);
  return base::ranges_of(std::move(devices));
}

// ---- builtin.cpp

/// "right", "WRONG", "failed" or "skipped".
const char* verdict_word(report::Status status);

/// The report of --list; `run` has its verdict.
report::Report kernel_list_report(report::Run run,
                                  const std::vector<measure::KernelFamily>& families);

/// Everything a run of built-in kernels found out.
struct BuiltinOutcome {
  std::vector<measure::KernelResult> results;
  std::vector<report::ThresholdResult> thresholds;
  std::optional<Error> error;  ///< that ended the run or a kernel
  std::uint64_t seed = 1;      ///< of the data of operations
  std::string sweep;           ///< "quick" or "full"; empty: a timed run
  bool is_together = false;    ///< all devices at once, with what follows
  std::vector<accept::SoakedLoad> soaked;
  std::vector<accept::Fault> faults;  ///< devices that slow or are behind the others

  std::size_t count(report::Status wanted) const { return report::count_status(results, wanted); }
  bool is_interrupted() const { return error && error->code() == ErrorCode::cancelled; }
};

/// One result in a line: "stream-triad.f32.1GiB@nvidia:0: 3.95 TB/s, 82 % of peak".
std::string describe_result(const measure::KernelResult& result);

/// "fma.f32@nvidia:0: 12 of 600 s, 512 TFLOP/s".
std::string describe_progress(const measure::KernelProgress& progress);

/// Of all faults of devices that ran together.
std::vector<report::Failure> failures_of(const BuiltinOutcome& outcome);

/// `run` has its verdict.
report::Report kernel_results_report(report::Run run, const BuiltinOutcome& outcome);

// ---- sweep.cpp

/// "add: 10 types, 10 layouts, 280 cases: right"
std::string describe_operation(std::span<const measure::KernelResult> types);

/// `run` has its verdict.
report::Report sweep_report(report::Run run, const BuiltinOutcome& outcome);

}  // namespace hiptool::results
