// SPDX-License-Identifier: MIT
#pragma once
#include "cli/command.hpp"
#include "cli/commands/bench_copy/options.hpp"
#include "results/bench_copy/outcome.hpp"

namespace hiptool::cli {

/// Chooses devices, plans, measures and judges. Fills the outcome in steps, so that it holds the
/// finished measurements when this throws: Error(cancelled) on an interrupt, others if nothing can
/// be measured or judged. The failure of one measurement is stored in its result.
void run_bench_copy_steps(const BenchCopyOptions& options, Context& context,
                          results::BenchCopyOutcome& outcome);

}  // namespace hiptool::cli
