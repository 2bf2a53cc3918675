// SPDX-License-Identifier: MIT
/// Commands that hiptool runs in a child process of its own. The help does not list them.
#pragma once
#include <optional>

#include "cli/environment.hpp"

namespace hiptool::cli {

/// Runs `compile-kernel FILE --target ARCH --out FILE`, a child because old run-time compilers may
/// abort, or `probe-platform NAME ROOT`, a child because a driver may hang, which writes each
/// finding to standard output at once (machine/doctor/probe.hpp), or `measure-library REQUEST
/// RESULT` and `measure-collective REQUEST RESULT`, because a vendor's library may abort or hang.
/// Returns the exit code, absent for any other command line. Throws Error.
std::optional<int> run_child_command(int argc, const char* const* argv, Environment& environment);

bool is_probe_platform(int argc, const char* const* argv);

}  // namespace hiptool::cli
