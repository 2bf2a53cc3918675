// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "hiptool/error.hpp"

namespace hiptool::cli {

/// Exit code of a run whose checks, thresholds or comparisons failed: a verdict, not an error.
inline constexpr int exit_done = 0;
inline constexpr int exit_check_failed = 1;

/// The exit code of a failed run; the one place that knows. `signal` is the number of the signal
/// that stopped it (0: none), which tells SIGINT and SIGTERM apart for ErrorCode::cancelled.
int exit_code_of(ErrorCode code, int signal = 0) noexcept;

/// The table of `hiptool help exit-codes`.
std::string exit_codes_text();

}  // namespace hiptool::cli
