// SPDX-License-Identifier: MIT
#pragma once
#include "cli/commands/report/compare.hpp"

namespace hiptool::cli {

/// Adds the fields to the document, and lines and tables to it. Its verdict is that of
/// comparison_failures().
ReportPair make_compare_reports(report::Object document, const ReportComparison& comparison,
                                const ReportFile& before, const ReportFile& after);

/// Cells that are slower or failed in the new document, or that the documents have none in common.
std::vector<report::Failure> comparison_failures(const ReportComparison& comparison);

}  // namespace hiptool::cli
