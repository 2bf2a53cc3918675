// SPDX-License-Identifier: MIT
#include "core/device_names.hpp"

#include <string_view>

#include "core/call.hpp"

namespace hiptool::core {
namespace {

/// "gfx90a", "gfx1100": it is passed to a run-time compiler, and old ones abort on other names.
bool is_gfx_name(std::string_view arch) {
  constexpr std::string_view prefix = "gfx";
  return arch.starts_with(prefix) && arch.size() > prefix.size() &&
         arch.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

void forget_foreign_arch(const Device& device, hip::DeviceNames& names) {
  if (device.platform() != Platform::amd || names.arch.empty() || is_gfx_name(names.arch)) return;
  state_of(device).note(
      "hipGetDevicePropertiesR0600",
      "the architecture of " + device.id() + ", '" + names.arch + "', is not a gfx name");
  names.arch.clear();
}

}  // namespace

std::optional<hip::DeviceNames> read_names(const Device& device) {
  constexpr int attempts = 2;
  for (int attempt = 0; attempt < attempts && !is_lost(device); ++attempt) {
    hip::hipError_t error = hip::hipSuccess;
    auto names = hip::read_device_names(api_of(device), device.native_handle(), &error);
    if (names) {
      forget_foreign_arch(device, *names);
      return names;
    }
    if (error != hip::hipSuccess) note_failure(device, "hipGetDevicePropertiesR0600", error);
  }
  state_of(device).note("hipGetDevicePropertiesR0600",
                        "reported no name and architecture of " + device.id());
  return std::nullopt;
}

}  // namespace hiptool::core
