// SPDX-License-Identifier: MIT
/// Differences of the machines that two runs ran on, and of their state.
#pragma once
#include <string>
#include <vector>

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

}  // namespace hiptool::report
