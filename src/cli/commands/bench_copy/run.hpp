// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "cli/command.hpp"
#include "cli/commands/bench_copy/options.hpp"
#include "cli/commands/bench_copy/outcome.hpp"

namespace hiptool::cli {

/// Chooses devices, plans, measures and judges. Fills the outcome as it goes, so that what was
/// measured is there when it throws: Error(cancelled) on an interrupt, else for what keeps anything
/// from being measured or judged. What fails in one measurement is that measurement's.
void run_bench_copy_steps(const BenchCopyOptions& options, Context& context,
                          BenchCopyOutcome& outcome);

}  // namespace hiptool::cli
