// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/process_times.hpp"
#include "report/reader.hpp"
#include "report/tree.hpp"

namespace hiptool::report {

struct SetupDifference {
  enum class Kind { clock, link, throttle, software };
  Kind kind = Kind::software;
  std::string what;    ///< its path in the document: "devices.nvidia:0.clocks.during.clock_hz"
  std::string device;  ///< the device it is about; empty: unknown, or all
  Value old_value;
  Value new_value;
};

/// "clocks", "link", "throttling" or "software".
std::string_view to_string(SetupDifference::Kind kind) noexcept;

/// Compares the `context` of two documents. These make times incomparable: clocks that differ by
/// more than 5 %, speed and width of the link, reasons that hold clocks down. Software (driver,
/// runtime) is often what is being compared. A value that one side lacks is not a difference. A
/// reading during the work takes precedence over those before and after it, when link and clock may
/// be idle.
std::vector<SetupDifference> setup_differences(const Value& old_setup, const Value& new_setup);

struct RunComparison {
  std::vector<Comparison> comparisons;  ///< of both runs, in the order of the old document
  std::vector<std::string> only_old;    ///< ids
  std::vector<std::string> only_new;
  /// Ids that the new run measured and the old one did not, because it lacks them or has no good
  /// times of them; then those of the old run. What failed in the new run is not among them.
  std::vector<std::string> missing_in_old;
  std::vector<std::string> missing_in_new;
  std::vector<SetupDifference> differences;
  /// Changes that are ignored; absent: what the noise between processes can decide.
  std::optional<double> effect = base::least_effect;
  bool is_strict = false;           ///< what is ambiguous is a failure too
  bool is_strict_baseline = false;  ///< and so is what only one of the runs measured

  std::size_t count(base::Verdict verdict) const;
  /// The worst that a reader must act on; absent where nothing was compared.
  std::optional<base::Verdict> verdict() const;
  bool is_missing(const std::string& id) const;
  /// Whether a run measured it and it is not reported as missing.
  bool is_judged(const Comparison& compared) const;
  /// Whether it is a failure because it is ambiguous.
  bool fails_as_ambiguous(const Comparison& compared) const;
  /// Measurements that are slower or failed in the new run, if strict also those that are
  /// ambiguous or missing, or that the runs have none in common. One of each measurement.
  std::vector<Failure> failures() const;
};

/// The first line: the worst failure of the comparison, then its verdict with the counts; one line
/// where both are the same. None where nothing was compared.
std::vector<Line> headlines(const RunComparison& comparison);

/// The missing measurements as documents have them: id and missing_in, "baseline" or "run".
Array missing_value(const RunComparison& comparison);

/// "1 of 3 measurements slower, 2 the same".
std::string counts_text(const std::vector<Comparison>& comparisons);

/// For people: a row for each, with the verdict, both sides and the change.
Table comparisons_table(const std::vector<Comparison>& comparisons);

/// Where a run was made: "node1, 8 x NVIDIA H200, 2026-03-01T12:00:00Z".
std::string machine_text(const RunFile& file);

/// How hosts and devices of two runs differ, a sentence for each difference; what one side does not
/// name is none.
std::vector<std::string> machine_differences(const RunFile& before, const RunFile& after);

/// For people, before the comparison is trusted: which of the runs did not pass, and how the
/// machines differ.
std::vector<Line> warning_lines(const RunFile& before, const RunFile& after);

/// The effect by which two runs are compared if none is given: of two checks 5 %
/// (report::steady_spread), of others 3 % (base::least_effect).
double usual_effect(const RunFile& run);

/// Fewer on both sides say too little of the noise between processes.
inline constexpr std::size_t least_processes = 3;

/// Compares every measurement that both runs have: where several processes measured it, by their
/// medians (base::compare_processes()), else sample by sample (base::compare_times()), where
/// changes of short calls within run_spread() are ignored too. Without an
/// effect the noise decides, and measurements of fewer than least_processes processes on
/// both sides are ambiguous. There are no comparisons where none was measured in both runs
/// or failed in the new one. Throws Error(invalid_argument) for runs of different commands, and
/// Error(unsupported) for commands whose documents have no samples.
RunComparison compare_runs(const RunFile& before, const RunFile& after,
                           std::optional<double> effect,
                           base::ProcessOrder order = base::ProcessOrder::apart);

/// "smallest effect that the noise can decide: 0.9 % (h2d.pinned...@nvidia:0) to 7.1 % (...)";
/// empty where no noise between processes is known.
std::string decidable_text(const std::vector<Comparison>& comparisons);

/// Adds to a strict comparison's failures.
Failure ambiguous_failure(const Comparison& compared);

}  // namespace hiptool::report
