// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "hiptool/error.hpp"
#include "measure/copy/bench.hpp"
#include "measure/copy/device_watch.hpp"
#include "measure/copy/thresholds.hpp"
#include "report/verdict.hpp"

namespace hiptool::cli {

/// A measurement and the one of the same id in an earlier run.
struct BaselineComparison {
  std::string id;
  base::Comparison comparison;
  std::string doubt;       ///< why the runs cannot be compared; the verdict is ambiguous then
  report::Value expected;  ///< of the earlier run: bytes per second, of latencies seconds
  report::Value got;       ///< of this run
};

/// How this run and an earlier one compare.
struct Baseline {
  std::string path;
  bool is_strict = false;  ///< a measurement that only one of the runs has is a failure
  std::vector<BaselineComparison> comparisons;
  std::vector<std::string> only_before;  ///< ids of measurements of the earlier run alone
  std::vector<std::string> only_now;     ///< ids of measurements of this run alone
};

/// Everything a run of bench-copy found out.
struct BenchCopyOutcome {
  std::vector<measure::CopyResult> results;
  std::vector<measure::WatchedDevice> contexts;
  std::vector<std::pair<std::string, std::string>> variables;  ///< that decide what is seen
  std::vector<measure::Judgement> judgements;
  std::optional<Baseline> baseline;
  std::optional<Error> error;  ///< that ended the run or a measurement
  double wall_time_s = 0;

  std::size_t count(measure::CopyStatus wanted) const;
  /// Those that have samples, right or wrong.
  std::size_t measured() const;
  bool is_interrupted() const;
};

/// Missed thresholds, measurements slower than the baseline, and what a baseline lacks.
std::vector<report::Failure> failures_of(const BenchCopyOutcome& outcome);

/// Why nothing was measured: Error(unavailable) with the reasons. Absent if something was measured
/// or failed.
std::optional<Error> nothing_measured(const BenchCopyOutcome& outcome);

}  // namespace hiptool::cli
