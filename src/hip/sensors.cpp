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

}  // namespace hiptool::hip
