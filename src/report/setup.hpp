// SPDX-License-Identifier: MIT
/// What two runs say of the machine they ran on.
#pragma once
#include <string>
#include <vector>

#include "report/report.hpp"

namespace hiptool::report {

struct SetupDifference {
  enum class Kind { clock, link, throttle, software };
  Kind kind = Kind::software;
  std::string what;    ///< where it stands: "devices.nvidia:0.clocks.during.clock_hz"
  std::string device;  ///< the device it is about; empty: unknown, or all
  Value old_value;
  Value new_value;
};

/// "clocks", "link", "throttling" or "software".
std::string_view to_string(SetupDifference::Kind kind) noexcept;

/// How the `context` of two documents differs in what makes times incomparable: clocks by more than
/// 5 %, the link's speed and width, reasons for which clocks are held down; and in software
/// (driver, runtime), which is often what is being compared. What one side does not know is no
/// difference. Where something was read during the work, that counts; readings before and after it,
/// of a link or clock that may sleep, count only where no other is there.
std::vector<SetupDifference> setup_differences(const Object& old_document,
                                               const Object& new_document);

}  // namespace hiptool::report
