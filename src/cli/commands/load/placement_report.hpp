// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/load/outcome.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// The rows as objects with the columns' keys, of which the first may have another name.
report::Array objects_of(report::Table table, std::string_view first_key = {});

/// "nvidia:0", "nvidia:0, nvidia:1" or "8 devices"; empty while no device is known.
std::string place_text(const LoadOutcome& outcome);

/// Names of the devices and, of several, the tensors of each.
std::vector<report::Line> device_lines(const LoadOutcome& outcome);

/// Every chosen device, also one that gets no tensors, and its copy rate.
report::Table devices_table(const LoadOutcome& outcome);

/// Every tensor, with its device where there are several.
report::Table tensors_table(const LoadOutcome& outcome);

/// The same for programs: a row for each copy, with every field of `tensors` of the document.
report::Table full_tensors_table(const LoadOutcome& outcome);

}  // namespace hiptool::cli
