// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

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
  std::vector<SetupDifference> differences;
  double effect = base::least_effect;

  std::size_t count(base::Verdict verdict) const;
  /// The worst that a reader must act on; absent where nothing was compared.
  std::optional<base::Verdict> verdict() const;
  /// Measurements that are slower or failed in the new run, or that the runs have none in common.
  std::vector<Failure> failures() const;
};

/// Where a run was made: "node1, 8 x NVIDIA H200, 2026-03-01T12:00:00Z".
std::string machine_text(const RunFile& file);

/// How hosts and devices of two runs differ, a sentence for each difference; what one side does not
/// name is none.
std::vector<std::string> machine_differences(const RunFile& before, const RunFile& after);

/// The effect by which two runs are compared if none is given: of two checks 5 %
/// (report::steady_spread), of others 3 % (base::least_effect).
double usual_effect(const RunFile& run);

/// Compares every measurement that both runs have, sample by sample; changes of the time of less
/// than `effect`, and of short calls those of run_spread(), are ignored. There are no comparisons
/// where no measurement has samples in both runs or failed in the new one. Throws
/// Error(invalid_argument) for runs of different commands, and Error(unsupported) for commands
/// whose documents have no samples.
RunComparison compare_runs(const RunFile& before, const RunFile& after, double effect);

}  // namespace hiptool::report
