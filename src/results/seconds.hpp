// SPDX-License-Identifier: MIT
/// What measurements of work that took long have for each second.
#pragma once
#include <optional>
#include <vector>

#include "report/report.hpp"

namespace hiptool::results {

/// A line for each measurement that has rates of each second (accept::measurement_of()): device,
/// least, median and most rate and deviation, as texts with units or, for CSV, as numbers in base
/// units. Nothing where none has.
std::optional<report::Table> seconds_table(const std::vector<report::Measurement>& measurements,
                                           bool has_units = true);

}  // namespace hiptool::results
