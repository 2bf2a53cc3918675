// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"
#include "measure/copy/bench.hpp"
#include "measure/copy/device_watch.hpp"
#include "measure/copy/thresholds.hpp"
#include "report/measurement.hpp"

namespace hiptool::cli {

/// How this run and an earlier one compare.
struct Baseline {
  std::string path;
  bool is_strict = false;  ///< a measurement that only one of the runs has is a failure
  std::vector<report::Comparison> comparisons;
  std::vector<std::string> only_before;  ///< ids of measurements of the earlier run alone
  std::vector<std::string> only_now;     ///< ids of measurements of this run alone
};

/// Everything a run of bench-copy found out.
struct BenchCopyOutcome {
  std::vector<measure::CopyResult> results;
  std::vector<measure::WatchedDevice> devices;
  std::vector<std::pair<std::string, std::string>> variables;  ///< that decide what is seen
  std::vector<report::ThresholdResult> thresholds;
  std::optional<Baseline> baseline;
  std::optional<Error> error;  ///< that ended the run or a measurement
  double wall_time_s = 0;

  std::size_t count(report::Status wanted) const { return report::count_status(results, wanted); }
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
