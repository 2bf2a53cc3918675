// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/run_kernel/run_kernel.hpp"

namespace hiptool::cli {

/// Runs the kernel of --module on every chosen device.
int run_user_module(const RunKernelOptions& options, Context& context);

}  // namespace hiptool::cli
