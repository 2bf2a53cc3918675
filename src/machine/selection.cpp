// SPDX-License-Identifier: MIT
#include "machine/selection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/contains.hpp"
#include "core/default_device.hpp"
#include "hiptool/error.hpp"

namespace hiptool::machine {
namespace {

std::vector<Device> devices_of(Platforms& platforms, Platform platform) {
  const PlatformStatus& status = platforms.status(platform);
  if (status.usable) return platforms.devices(platform);
  throw Error(ErrorCode::unavailable, "choose device",
              fmt::format("platform {} is not usable: {}", to_string(platform), status.reason),
              status.hint);
}

std::vector<Device> all_devices(Platforms& platforms, const DeviceSelection& selection) {
  if (selection.platform) return devices_of(platforms, *selection.platform);
  std::vector<Device> found;
  for (const Platform platform : {Platform::amd, Platform::nvidia}) {
    if (!platforms.status(platform).usable) continue;
    for (const Device& device : platforms.devices(platform)) found.push_back(device);
  }
  if (!found.empty()) return found;
  // Throws if the machine has GPU hardware that is not usable.
  return devices_of(platforms, default_device(platforms).platform());
}

}  // namespace

bool is_gpu(Platform platform) noexcept { return platform != Platform::cpu; }

std::vector<Device> choose_devices(Platforms& platforms, const DeviceSelection& selection) {
  if (selection.ids.empty()) {
    return {core::choose_default(platforms, selection.platform).device};
  }
  std::vector<Device> chosen;
  for (const std::string& id : selection.ids) {
    if (id == "all") {
      for (const Device& device : all_devices(platforms, selection)) base::add_once(chosen, device);
      continue;
    }
    const Device device = find_device(platforms, id);
    if (selection.platform && device.platform() != *selection.platform) {
      throw Error(ErrorCode::invalid_argument, "choose device",
                  fmt::format("device {} does not belong to platform {}", device.id(),
                              to_string(*selection.platform)),
                  "remove --device or --platform");
    }
    base::add_once(chosen, device);
  }
  return chosen;
}

std::string explain_default(Platforms& platforms, const DeviceSelection& selection) {
  if (!selection.ids.empty()) return {};
  const core::DefaultDevice chosen = core::choose_default(platforms, selection.platform);
  return chosen.reason.empty() ? std::string()
                               : chosen.device.id() + " by default: " + chosen.reason;
}

bool is_for_cpu_only(const DeviceSelection& selection) {
  if (selection.platform) return *selection.platform == Platform::cpu;
  return !selection.ids.empty() &&
         std::all_of(selection.ids.begin(), selection.ids.end(),
                     [](const std::string& id) { return id == "cpu" || id.starts_with("cpu:"); });
}

}  // namespace hiptool::machine
