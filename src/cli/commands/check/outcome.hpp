// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accept/check.hpp"
#include "cli/command.hpp"
#include "hiptool/error.hpp"
#include "machine/doctor/doctor.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

struct CheckCommandOptions {
  std::optional<std::string> level;
  std::string stages;  ///< a comma-separated list; empty: all
  std::string model;
  std::string expect;
  std::string write_expect;
  bool force = false;            ///< it replaces a file of another kind
  std::string margin;            ///< "5%"; empty: that
  std::string spread;            ///< the same
  std::string timeout;           ///< seconds; empty: 30
  std::uint64_t size_bytes = 0;  ///< 0: depends on the device
};

/// Everything a run of check found out.
struct CheckOutcome {
  accept::CheckLevel level = accept::CheckLevel::quick;
  std::vector<std::string> stages;  ///< that were chosen
  accept::CheckResult result;
  std::vector<machine::Check> doctor;
  std::string expect;         ///< path; empty: none
  bool expects_gpus = false;  ///< the file has numbers of GPUs
  std::string written;        ///< path of the expectations that were written; empty: none
  std::string not_written;    ///< that of those that were not, because the run did not pass
  bool has_no_gpu = false;    ///< so that the processor was checked, which nobody named
  std::vector<std::string> no_gpu_reasons;  ///< of platforms with a runtime library
  std::string model;                        ///< path; empty: the made one
  double spread = 0;
  double wall_time_s = 0;
  /// The error of the verdict: of the worst fault, an interruption, or that nothing was run.
  std::optional<Error> error;
};

/// Chooses devices, examines the machine and runs all stages. Fills the outcome in steps. Throws
/// Error for wrong options and where no device can be used, before anything is measured.
void run_check_steps(const CheckCommandOptions& options, Context& context, CheckOutcome& outcome);

/// Of stages that failed without an error: a check or a rate.
std::vector<report::Failure> failures_of(const CheckOutcome& outcome);

/// `run` has its verdict.
report::Report check_report(report::Run run, const CheckOutcome& outcome);

/// "nvidia:1 memory: passed: memtest-random u32 3.91 TB/s".
std::string describe_stage(const accept::StageResult& stage);

}  // namespace hiptool::cli
