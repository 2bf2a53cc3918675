// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "cli/commands/report/file.hpp"
#include "cli/commands/report/report.hpp"
#include "report/context.hpp"

namespace hiptool::cli {

struct ComparedCell {
  const report::Measurement* before = nullptr;
  const report::Measurement* after = nullptr;
  base::Comparison comparison;
  std::string reason;  ///< why it is ambiguous; empty for other verdicts
};

struct ReportComparison {
  std::vector<ComparedCell> cells;  ///< those on both sides, in the order of the old document
  std::vector<std::string> only_old;
  std::vector<std::string> only_new;
  std::vector<report::ContextDifference> differences;
  double effect = base::least_effect;
};

/// "SAME", "FASTER", "SLOWER" or "AMBIGUOUS".
std::string_view to_string(base::Verdict verdict) noexcept;

/// Compares every cell that both documents hold, sample by sample. The files must outlive the
/// result. Throws Error(invalid_argument) where their kinds differ or no cell is on both sides, and
/// Error(unsupported) for kinds that hold no samples.
ReportComparison compare_reports(const ReportFile& before, const ReportFile& after, double effect);

/// Exit code 1 if a cell is slower, else 0.
int run_report_compare(const ReportOptions& options, Context& context);

}  // namespace hiptool::cli
