// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

#include "machine/inventory.hpp"
#include "report/report.hpp"

namespace hiptool::results {

/// `platforms` and `devices` of the JSON document.
report::Array platforms_value(const machine::Inventory& inventory);
report::Array devices_value(const machine::Inventory& inventory);

/// One row per device, or for neighbours that are alike one row together: "nvidia:0-7", "8 x NVIDIA
/// H200". Within 80 columns.
report::Table short_table(const machine::Inventory& inventory, bool is_grouped);

/// A row for each device: its caches, and what its instruction set has; of the processor read below
/// `root`.
report::Table cache_table(const machine::Inventory& inventory, const std::filesystem::path& root);

/// All properties of each device in base units.
report::Table full_table(const machine::Inventory& inventory);

/// "1 GPU usable: nvidia:0 NVIDIA H200, 140 GiB", or that there is none.
report::Line inventory_verdict(const machine::Inventory& inventory);

/// "nvidia:0 NVIDIA H200, 140 GiB: usable".
report::Line one_device_verdict(const machine::DeviceFacts& device);

/// Per platform its library and versions, or why it is not usable and a hint. `verbose` adds the
/// libraries that were tried.
std::vector<report::Line> platform_lines(const machine::Inventory& inventory, bool verbose);

}  // namespace hiptool::results
