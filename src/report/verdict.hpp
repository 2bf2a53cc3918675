// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "hiptool/error.hpp"

namespace hiptool::report {

inline constexpr int exit_done = 0;
inline constexpr int exit_check_failed =
    1;  ///< a failed check, threshold or comparison, not an error

/// The exit code of a failed run. `signal` is the number of the signal that stopped it (0: none),
/// for ErrorCode::cancelled.
int exit_code_of(ErrorCode code, int signal = 0) noexcept;

/// How bad an exit code is where several things failed: the higher, the worse; 0 for exit_done. A
/// signal is worse than all others.
int severity_of(int exit_code) noexcept;

/// The worse one of two exit codes.
int worse_of(int left, int right) noexcept;

/// The exit codes of failures but signals, the worst first: "5, 6, 7, 4, 3, 2, 1".
std::string order_of_severity();

}  // namespace hiptool::report
