// SPDX-License-Identifier: MIT
/// What measurements of work that took long have for each second.
#pragma once
#include <optional>
#include <vector>

#include "report/report.hpp"

namespace hiptool::results {

/// Measurements that have rates of each second (accept::measurement_of()): least, median and most
/// rate and deviation. A table for each measurement with a row for each device, or of one device a
/// row for each measurement.
std::vector<report::Table> seconds_tables(const std::vector<report::Measurement>& measurements);

/// The same as one table of numbers in base units; nothing where no measurement has such rates.
std::optional<report::Table> seconds_csv(const std::vector<report::Measurement>& measurements);

}  // namespace hiptool::results
