// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "measure/copy/bench.hpp"
#include "measure/copy/context.hpp"
#include "measure/copy/thresholds.hpp"

namespace hiptool::cli {

/// A cell beside the one of the same id in an earlier run.
struct BaselineComparison {
  std::string id;
  base::Comparison comparison;
  std::string doubt;  ///< why the runs cannot be compared; the verdict is ambiguous then
};

/// Everything a run of bench-copy found out.
struct BenchCopyOutcome {
  std::string status = "ok";
  std::vector<measure::CopyResult> results;
  std::vector<measure::DeviceContext> contexts;
  std::vector<std::pair<std::string, std::string>> variables;  ///< that decide what is seen
  std::vector<measure::Judgement> judgements;
  std::vector<BaselineComparison> comparisons;
  double wall_time_s = 0;

  std::size_t count(measure::CopyStatus wanted) const;
  bool is_good_enough() const;  ///< every threshold is met and nothing is slower
};

}  // namespace hiptool::cli
