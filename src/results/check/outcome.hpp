// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accept/check.hpp"
#include "hiptool/error.hpp"
#include "machine/doctor/doctor.hpp"
#include "report/report.hpp"

namespace hiptool::results {

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

/// Of stages that failed without an error: a check or a rate.
std::vector<report::Failure> failures_of(const CheckOutcome& outcome);

/// `run` has its verdict.
report::Report check_report(report::Run run, const CheckOutcome& outcome);

/// "nvidia:1 memory: passed: memtest-random u32 3.91 TB/s".
std::string describe_stage(const accept::StageResult& stage);

}  // namespace hiptool::results
