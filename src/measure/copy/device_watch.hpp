// SPDX-License-Identifier: MIT
/// The state of devices before, during and after the copies: two runs are comparable only if it is
/// the same.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hip/sensors.hpp"
#include "hiptool/device.hpp"
#include "machine/link_sampler.hpp"

namespace hiptool::measure {

struct DeviceState {
  std::optional<system::PciPath> link;
  hip::SensorReading sensors;
};

struct WatchedDevice {
  Device device;
  DeviceInfo info;
  std::string driver;   ///< empty: unknown
  std::string runtime;  ///< empty: unknown
  std::optional<int> numa_node;
  std::string sensors_source;   ///< empty: no sensors
  std::string sensors_missing;  ///< the reason why there are none, or not all of their values
  DeviceState before, during, after;
  bool has_timed_out = false;  ///< the sensors did not respond, at the start or later
};

/// Reads links and sensors of devices without starting a device.
class DeviceWatch {
 public:
  /// Reads the state before the copies. Blocks for some milliseconds; while the driver does not
  /// respond, for hip::sensor_patience.
  DeviceWatch(Platforms& platforms, const std::vector<Device>& devices,
              const std::filesystem::path& root);

  /// Reads the sensors while copies run, at most every 200 ms, and keeps the highest clocks,
  /// temperature and power and all reasons for throttling.
  void look() noexcept;

  /// Reads the state after the copies; `links` are those observed during the copies.
  void finish(const std::vector<machine::LinkObservation>& links);

  const std::vector<WatchedDevice>& devices() const noexcept { return contexts_; }

 private:
  hip::SensorReading read(WatchedDevice& context);

  std::filesystem::path root_;
  std::map<Platform, hip::SensorLibrary> libraries_;
  std::vector<WatchedDevice> contexts_;
  std::chrono::steady_clock::time_point last_read_{};
};

}  // namespace hiptool::measure
