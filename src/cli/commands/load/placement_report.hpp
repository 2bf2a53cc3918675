// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/load/outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// "nvidia:0", "nvidia:0, nvidia:1" or "8 devices"; empty while none is known.
std::string place_text(const LoadOutcome& outcome);

/// `devices` of the document: every chosen device, also one that gets no tensors.
report::Value devices_value(const LoadOutcome& outcome);

/// `tensors` of the document: every tensor where it lies, once for each copy.
report::Value tensors_value(const LoadOutcome& outcome);

/// Names of the devices and, of several, what each holds.
std::vector<report::Line> device_lines(const LoadOutcome& outcome);

/// What each of several devices got, and how fast.
report::Table devices_table(const LoadOutcome& outcome);

/// Every tensor, with its device where there are several.
report::Table tensors_table(const LoadOutcome& outcome);

/// The same for programs, with every field of the document.
report::Table full_tensors_table(const LoadOutcome& outcome);

}  // namespace hiptool::cli
