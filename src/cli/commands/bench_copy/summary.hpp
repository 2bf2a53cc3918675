// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/commands/bench_copy/outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// "h2d pageable by kernel": pinned memory and the copy engine go without saying.
std::string short_name(const measure::CopyResult& result);

/// The first lines of the report. What failed comes first, and then a line of its own for what was
/// measured: how many measurements, and the rate of each kind, as a range where it has several.
std::vector<report::Line> summary_lines(const BenchCopyOutcome& outcome);

}  // namespace hiptool::cli
