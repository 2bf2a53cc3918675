// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/bench_copy/outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// An outcome in words, with a table that fits 80 columns. `head` holds the fields that begin every
/// document; both reports have the same document.
report::Report bench_copy_for_people(report::Object head, const BenchCopyOutcome& outcome,
                                     bool unicode);

/// The same with one table of all figures of all measurements.
report::Report bench_copy_for_programs(report::Object head, const BenchCopyOutcome& outcome);

/// Rates as bars of eight heights, each the median of a stretch of samples.
std::string sparkline(const std::vector<double>& rates, std::size_t width);

}  // namespace hiptool::cli
