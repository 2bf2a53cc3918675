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
#include "report/compare.hpp"
#include "report/measurement.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// How this run and an earlier one compare.
struct Baseline {
  std::string path;
  report::RunComparison compared;
  std::vector<report::Line> warnings;  ///< of the baseline's run, and of another machine
};

/// Everything a run of bench-copy found out.
struct BenchCopyOutcome {
  std::vector<measure::CopyResult> results;
  std::vector<measure::WatchedDevice> devices;
  std::vector<std::string> left_out;  ///< ids of further devices where the user has named none
  std::vector<std::pair<std::string, std::string>> variables;  ///< that affect copies
  std::vector<report::ThresholdResult> thresholds;
  std::optional<Baseline> baseline;
  std::optional<Error> error;  ///< that ended the run or a measurement
  double wall_time_s = 0;

  std::size_t count(report::Status wanted) const { return report::count_status(results, wanted); }
  /// Those that have samples, right or wrong.
  std::size_t measured() const;
  bool is_interrupted() const;
};

/// Missed thresholds, measurements slower than the baseline, and measurements that it lacks.
std::vector<report::Failure> failures_of(const BenchCopyOutcome& outcome);

/// Why nothing was measured: Error(unavailable) with the reasons. Absent if something was measured
/// or failed.
std::optional<Error> nothing_measured(const BenchCopyOutcome& outcome);

/// Reads the document of an earlier run. Throws as report::read_run_file(), and
/// Error(invalid_argument) for a document of another command.
report::RunFile read_baseline(const std::string& path, const CancelToken& cancel);

/// Compares both runs as report::compare_runs() does with that effect. `run` names the machine.
Baseline compare_with_baseline(const report::RunFile& before, const BenchCopyOutcome& outcome,
                               report::Run run, std::optional<double> effect);

/// Adds them to a document that has its head already.
void add_bench_copy_fields(const BenchCopyOutcome& outcome, report::Object& document);

/// `context` of the document: the devices and the variables that affect copies.
report::Value setup_value(const BenchCopyOutcome& outcome);

/// An outcome as lines, a table that can fit 80 columns, one of all figures for CSV, and the fields
/// of its document. `run` has its verdict.
report::Report bench_copy_report(report::Run run, const BenchCopyOutcome& outcome, bool unicode);

/// Rates as bars of eight heights, each the median of a stretch of samples.
std::string sparkline(const std::vector<double>& rates, std::size_t width);

/// "h2d pageable by kernel", "h2d during d2h", "h2d pointer chase"; pinned memory and the copy
/// engine are left out.
std::string short_name(const measure::CopyResult& result);

/// The first lines of the report: the failure, then a line with the number of measurements and the
/// rate of each kind; of several the range, the median between pairs, and the slowest device or
/// pair. Then how to measure devices that were left out.
std::vector<report::Line> summary_lines(const BenchCopyOutcome& outcome);

}  // namespace hiptool::results
