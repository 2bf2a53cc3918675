// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "accept/accept.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// Of stages that failed without an error: a check or a rate.
std::vector<report::Failure> failures_of(const accept::CheckOutcome& outcome);

/// `run` has its verdict.
report::Report check_report(report::Run run, const accept::CheckOutcome& outcome);

/// "nvidia:1 memory: passed: memtest-random u32 3.91 TB/s".
std::string describe_stage(const accept::StageResult& stage);

}  // namespace hiptool::results
