// SPDX-License-Identifier: MIT
#pragma once
#include <exception>
#include <string>

#include "cli/output/console.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {

/// Writes an error to err in three parts: `error:` with the failed operation and its object, lines
/// with the cause, `hint:` with the next step.
void print_error(Console& console, const Error& error);

/// Its last part alone, where the first is on the screen already.
void print_hint(Console& console, const Error& error);

/// Any exception as an Error: out of memory, or an internal error.
Error as_error(const std::exception& exception);

/// A mistake on the command line.
Error usage_error(std::string message, std::string hint);

/// Two hints, the first of which may be empty.
std::string join_lines(const std::string& first, const std::string& second);

}  // namespace hiptool::cli
