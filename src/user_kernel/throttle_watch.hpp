// SPDX-License-Identifier: MIT
/// Why the clocks of a device are held down while a kernel runs.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hip/sensors.hpp"
#include "hiptool/device.hpp"

namespace hiptool::user_kernel {

class ThrottleWatch {
 public:
  /// Opens the sensors of the device; none on the cpu. Blocks; throws nothing for missing sensors.
  ThrottleWatch(const Device& device, const std::filesystem::path& root);

  /// Whether reasons can be read at all.
  bool can_read() const { return can_read_; }
  /// "power cap, thermal slowdown by hardware"; empty while nothing throttles, absent once the
  /// driver does not respond. Reads the sensors at most every 20 ms, and gives the last reading in
  /// between. Throws nothing.
  std::optional<std::string> reasons() noexcept;

 private:
  void read() noexcept;

  hip::SensorLibrary library_;
  std::string bus_id_;
  bool can_read_ = false;
  std::string last_;
  std::chrono::steady_clock::time_point last_read_{};
};

}  // namespace hiptool::user_kernel
