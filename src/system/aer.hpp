// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::system {

/// Errors that a device or port of PCIe reported since the machine was started (Linux,
/// Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats).
struct AerCounts {
  std::string bus_id;
  std::optional<std::uint64_t> corrected;
  std::optional<std::uint64_t> uncorrected;  ///< fatal and nonfatal ones
};

/// Those of a device and of every port up to the root port, the device first; ports without the
/// files are left out. An error of a link may be counted at either end of it.
std::vector<AerCounts> read_aer(const std::filesystem::path& root, std::string_view bus_id);

}  // namespace hiptool::system
