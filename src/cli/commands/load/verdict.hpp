// SPDX-License-Identifier: MIT
/// What a run of `load` amounts to: worked out here once, read by every writer.
#pragma once
#include <string>
#include <vector>

#include "cli/commands/load/outcome.hpp"
#include "hiptool/error.hpp"
#include "report/run.hpp"

namespace hiptool::cli {

/// 5 for wrong data or a planted fault that went undetected, whatever else failed; then the code of
/// `error` (null: none), then 1 for NaN and infinity. `signal` is the one that interrupted the run.
int load_exit_code(const LoadOutcome& outcome, const Error* error, int signal);

/// One for each tensor with NaN or infinity and for each undetected fault of the self-test.
std::vector<report::Failure> load_failures(const LoadOutcome& outcome);

/// "self-test missed 1 of 4 planted faults: ..." or "NaN: 3 values in 1 tensor (a)"; empty where
/// neither was found.
std::string failed_check_text(const LoadOutcome& outcome);

}  // namespace hiptool::cli
