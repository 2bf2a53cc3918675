// SPDX-License-Identifier: MIT
/// The built-in kernels of run-kernel.
#pragma once
#include "cli/commands/run_kernel/run_kernel.hpp"

namespace hiptool::cli {

/// Runs them on the chosen devices and writes the report, or their list. Gives back 0, 1 for a
/// threshold that was missed, and the codes of a mismatch, a failed call or an interruption. Throws
/// Error(invalid_argument) and Error(not_found) before anything runs.
int run_builtin_kernels(const RunKernelOptions& options, Context& context);

}  // namespace hiptool::cli
