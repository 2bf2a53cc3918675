// SPDX-License-Identifier: MIT
/// One measurement of several processes of one program, as one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "report/tree.hpp"

namespace hiptool::report {

/// The measurements of several runs of a command, each id once, in the order in which they appear.
/// Samples of all processes are kept, in the order of the runs; the median is the median of the
/// processes' medians, and rates and share follow it. All else is from the process whose median
/// is the middle one, or of the worst one where a process failed.
struct PooledMeasurement {
  Measurement measured;
  std::size_t run = 0;  ///< that all else is from
};
std::vector<PooledMeasurement> pool_measurements(const std::vector<std::vector<Measurement>>& runs);

/// The measurement of that id in a document with what was pooled in its place; null if it has none.
Value pooled_value(const Object& document, const PooledMeasurement& pooled);

/// The smallest effect that can be decided against as many processes of the same noise
/// (base::ProcessComparison::decidable_effect); absent for fewer than two processes.
std::optional<double> decidable_effect_of(const Measurement& measured);

/// A row for each measurement: rate or time, share of the limit, processes, how much their medians
/// differ, and the smallest effect that this noise can decide.
Table pooled_table(const std::vector<Measurement>& measurements);

}  // namespace hiptool::report
