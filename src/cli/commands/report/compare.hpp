// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/report/report.hpp"
#include "report/compare.hpp"

namespace hiptool::cli {

/// Adds the fields to the document, and lines and tables to it. Its verdict is that of
/// comparison_failures().
ReportPair make_compare_reports(report::Object document, const report::ReportComparison& comparison,
                                const report::ReportFile& before, const report::ReportFile& after);

/// Cells that are slower or failed in the new document, or that the documents have none in common.
std::vector<report::Failure> comparison_failures(const report::ReportComparison& comparison);

}  // namespace hiptool::cli
