// SPDX-License-Identifier: MIT
#include "hip/sensors.hpp"

namespace hiptool::hip {

SensorLibrary open_sensors(Platform platform, const std::filesystem::path& root) {
  switch (platform) {
    case Platform::amd: return amd::open_sensors(root);
    case Platform::nvidia: return nvidia::open_sensors();
    case Platform::cpu: break;
  }
  return {nullptr, "the cpu platform has no sensors"};
}

bool is_hardware_slowdown(std::string_view throttle_reason) noexcept {
  return nvidia::is_hardware_slowdown(throttle_reason) ||
         amd::is_hardware_slowdown(throttle_reason);
}

bool is_thermal_slowdown(std::string_view throttle_reason) noexcept {
  return throttle_reason.starts_with("thermal slowdown") && !is_hardware_slowdown(throttle_reason);
}

}  // namespace hiptool::hip
