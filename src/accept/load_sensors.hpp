// SPDX-License-Identifier: MIT
/// The sensors of devices while they work.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hip/sensors.hpp"
#include "hiptool/device.hpp"

namespace hiptool::accept {

/// Reads clocks, and remembers why they were throttled. Safe under threads; a driver that hangs is
/// waited for no longer than the patience.
class LoadSensors {
 public:
  /// Opens the libraries. Blocks.
  LoadSensors(const std::vector<Device>& devices, const std::filesystem::path& root,
              std::chrono::milliseconds patience);

  bool can_read(const std::string& device) const { return bus_ids_.count(device) > 0; }
  /// The clock of a device now; throws nothing.
  std::optional<double> clock_hz(const std::string& device) noexcept;
  /// Reads a device, at most every 100 ms.
  void look(const std::string& device) noexcept;
  /// Each once, in the order in which they were seen.
  std::vector<std::string> reasons(const std::string& device) const;

 private:
  struct Place {
    Platform platform = Platform::cpu;
    std::string bus_id;
  };

  std::map<Platform, hip::SensorLibrary> libraries_;  // not changed after the constructor
  std::map<std::string, Place> bus_ids_;              // the same
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> reasons_;
  std::map<std::string, std::chrono::steady_clock::time_point> last_read_;
};

}  // namespace hiptool::accept
