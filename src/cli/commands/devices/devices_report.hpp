// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "measure/inventory.hpp"
#include "report/report.hpp"

namespace hiptool::cli {

/// `platforms` and `devices` of the JSON document.
report::Array platforms_value(const measure::Inventory& inventory);
report::Array devices_value(const measure::Inventory& inventory);

/// One line for each device, narrow enough for 80 columns.
report::Table short_table(const measure::Inventory& inventory, bool unicode);

/// Everything known about each device in base units.
report::Table full_table(const measure::Inventory& inventory);

/// "1 GPU usable: nvidia:0 NVIDIA H200, 140 GiB", or what is in the way.
report::Line inventory_verdict(const measure::Inventory& inventory);

/// "nvidia:0 NVIDIA H200, 140 GiB: usable".
report::Line one_device_verdict(const measure::DeviceFacts& device);

/// A line for each platform: what it runs on, or why it is not usable and what to try. `verbose`
/// adds the libraries that were tried.
std::vector<report::Line> platform_lines(const measure::Inventory& inventory, bool verbose);

bool is_gpu(Platform platform) noexcept;

}  // namespace hiptool::cli
