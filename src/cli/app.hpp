// SPDX-License-Identifier: MIT
#pragma once
#include "cli/environment.hpp"

namespace hiptool::cli {

/// The whole program but for the process: words to options to a command to its output. Never
/// throws; gives back the exit code.
int run(int argc, const char* const* argv, Environment& environment);

}  // namespace hiptool::cli
