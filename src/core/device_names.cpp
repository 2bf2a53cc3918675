// SPDX-License-Identifier: MIT
#include "core/device_names.hpp"

#include "core/call.hpp"

namespace hiptool::core {

std::optional<hip::DeviceNames> read_names(const Device& device) {
  constexpr int attempts = 2;
  for (int attempt = 0; attempt < attempts && !is_lost(device); ++attempt) {
    hip::hipError_t error = hip::hipSuccess;
    auto names = hip::read_device_names(device.api(), device.ordinal(), &error);
    if (names) return names;
    if (error != hip::hipSuccess) note_failure(device, "hipGetDevicePropertiesR0600", error);
  }
  device.state().note("hipGetDevicePropertiesR0600", "told no name and arch of " + device.id());
  return std::nullopt;
}

}  // namespace hiptool::core
