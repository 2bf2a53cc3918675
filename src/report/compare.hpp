// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "report/run_file.hpp"
#include "report/setup.hpp"

namespace hiptool::report {

struct ComparedMeasurement {
  const Measurement* before = nullptr;
  const Measurement* after = nullptr;
  base::Comparison comparison;
  std::string reason;  ///< why it is ambiguous; empty for other verdicts
};

struct ReportComparison {
  std::vector<ComparedMeasurement>
      compared;  ///< those on both sides, in the order of the old document
  std::vector<std::string> only_old;
  std::vector<std::string> only_new;
  std::vector<SetupDifference> differences;
  double effect = base::least_effect;
};

/// "SAME", "FASTER", "SLOWER" or "AMBIGUOUS".
std::string_view to_string(base::Verdict verdict) noexcept;

/// A call failed or data was wrong.
bool has_failed(const Measurement& measured);

/// Compares every cell that both documents hold, sample by sample. The files must outlive the
/// result, which has no cells where no measurement has samples in both documents or failed in the
/// new one. Throws Error(invalid_argument) where their kinds differ, and Error(unsupported) for
/// kinds that hold no samples.
ReportComparison compare_reports(const ReportFile& before, const ReportFile& after, double effect);

}  // namespace hiptool::report
