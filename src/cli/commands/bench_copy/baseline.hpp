// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/commands/bench_copy/outcome.hpp"
#include "cli/commands/report/file.hpp"

namespace hiptool::cli {

/// Reads the document of an earlier run. Throws as read_report_file(), and Error(invalid_argument)
/// for a document of another command.
ReportFile read_baseline(const std::string& path);

/// Each cell that both runs have, as `report compare` sees it. Throws Error(invalid_argument) where
/// there is none: such a comparison would pass whatever was measured.
std::vector<BaselineComparison> compare_with_baseline(const ReportFile& baseline,
                                                      const BenchCopyOutcome& outcome);

}  // namespace hiptool::cli
