// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "report/report.hpp"

namespace hiptool::fuzz {

/// Writes a report in one format (from 1 on, in the order of the function) or, for 0, in all, and
/// aborts where what was written breaks a rule that holds for every document.
void check_report(const report::Report& report, std::uint8_t format);

}  // namespace hiptool::fuzz
