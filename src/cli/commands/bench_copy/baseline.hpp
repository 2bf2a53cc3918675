// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/commands/bench_copy/outcome.hpp"
#include "report/compare.hpp"

namespace hiptool::cli {

/// Reads the document of an earlier run. Throws as report::read_report_file(), and
/// Error(invalid_argument) for a document of another command.
report::RunFile read_baseline(const std::string& path, const CancelToken& cancel);

/// Compares each measurement that both runs have, as `report compare` does, and lists the others.
/// Where they have none in common there are no comparisons.
Baseline compare_with_baseline(const report::RunFile& before, const BenchCopyOutcome& outcome);

}  // namespace hiptool::cli
