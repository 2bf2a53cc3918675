// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/bench_copy/outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// An outcome as lines, a table that fits 80 columns, one of all figures for CSV, and the fields of
/// its document. `run` has its verdict.
report::Report bench_copy_report(report::Run run, const BenchCopyOutcome& outcome, bool unicode);

/// Rates as bars of eight heights, each the median of a stretch of samples.
std::string sparkline(const std::vector<double>& rates, std::size_t width);

}  // namespace hiptool::cli
