// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::measure {

/// What the memory of a device can carry at most, in bytes per second, and how that is known:
/// "sku-table" (the vendor's figure for a board of that name) or "memory-clock" (clock, transfers
/// for each clock and width of the bus).
struct MemoryPeak {
  double bytes_per_s = 0;
  const char* source = "";
};

/// On NVIDIA by the clock, which the driver reports for a bus of double data rate. On AMD the
/// figure that is published for the board, else the clock of the memory controller times the
/// transfers that such a memory makes in a clock (HBM 2, GDDR5 4, GDDR6 16). Absent for memory that
/// is the host's and where no public source was found. docs/peaks.md names the sources.
std::optional<MemoryPeak> memory_peak(Platform platform, const DeviceInfo& info);

}  // namespace hiptool::measure
