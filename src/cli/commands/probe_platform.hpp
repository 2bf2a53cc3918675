// SPDX-License-Identifier: MIT
#pragma once

#include "cli/environment.hpp"

namespace hiptool::cli {

/// The command that hiptool calls itself by, in a child process, because a driver may hang:
/// `hiptool probe-platform NAME ROOT`. It is in no help.
bool is_probe_platform(int argc, const char* const* argv);

/// Asks the platform and tells each finding on standard output at once
/// (measure/doctor/probe.hpp); throws Error for wrong words.
int run_probe_platform(int argc, const char* const* argv, Environment& environment);

}  // namespace hiptool::cli
