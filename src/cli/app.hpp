// SPDX-License-Identifier: MIT
#pragma once
#include "cli/environment.hpp"

namespace hiptool::cli {

/// Parses the arguments, runs the command, writes its output. Never throws; returns the exit code.
int run(int argc, const char* const* argv, Environment& environment);

}  // namespace hiptool::cli
