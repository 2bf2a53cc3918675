// SPDX-License-Identifier: MIT
/// What a device was like before, during and after the copies: two runs can only be compared where
/// this is alike.
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
#include "measure/copy/link_sampler.hpp"

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
  std::string sensors_source;   ///< empty: there are none
  std::string sensors_missing;  ///< the reason
  DeviceState before, during, after;
};

/// Reads links and sensors of some devices. Nothing here starts a device.
class DeviceWatch {
 public:
  /// Takes the first look. Blocks for some milliseconds.
  DeviceWatch(Platforms& platforms, const std::vector<Device>& devices,
              const std::filesystem::path& root);

  /// A look at the sensors while copies run; of several the highest clocks, temperature and power
  /// and all reasons for throttling are kept. Not more than a few times a second it does anything.
  void look() noexcept;

  /// Takes the last look; the links during the copies are those given.
  void finish(const std::vector<LinkObservation>& links);

  const std::vector<WatchedDevice>& devices() const noexcept { return contexts_; }

 private:
  hip::SensorReading read(const WatchedDevice& context);

  std::filesystem::path root_;
  std::map<Platform, hip::SensorLibrary> libraries_;
  std::vector<WatchedDevice> contexts_;
  std::chrono::steady_clock::time_point last_look_{};
};

}  // namespace hiptool::measure
