// SPDX-License-Identifier: MIT
#pragma once
#include <exception>
#include <string>

#include "cli/console.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {

/// Writes an error to err in three parts: `error:` what failed on what, lines with the cause,
/// `hint:` what to try next.
void print_error(Console& console, const Error& error);

/// Any exception as an Error: no memory, a system error, or a defect.
Error as_error(const std::exception& exception);

/// Wrong words on the command line.
Error usage_error(std::string message, std::string hint);

}  // namespace hiptool::cli
