// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/error.hpp"

namespace hiptool::cli {

inline constexpr int exit_done = 0;
inline constexpr int exit_check_failed =
    1;  ///< a failed check, threshold or comparison, not an error

/// The exit code of a failed run. `signal` is the number of the signal that stopped it (0: none),
/// for ErrorCode::cancelled.
int exit_code_of(ErrorCode code, int signal = 0) noexcept;

/// How bad an exit code is where several things failed, 0 for success: interrupted, then 5, 6, 7,
/// 4, 3, 2, 1.
int severity_of(int exit_code) noexcept;

/// A row of the table of exit codes.
struct ExitCodeDoc {
  int exit_code;
  std::string_view meaning;
};

/// The exit codes in the order of the table.
std::vector<ExitCodeDoc> exit_code_docs();

/// The table of `hiptool help exit-codes`.
std::string exit_codes_text();

}  // namespace hiptool::cli
