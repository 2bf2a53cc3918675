// SPDX-License-Identifier: MIT
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "core/call.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "system/pci.hpp"

namespace hiptool {
namespace {

constexpr std::array all_platforms{Platform::amd, Platform::nvidia, Platform::cpu};

Error unusable(const std::string& what, const PlatformStatus& status) {
  return Error(ErrorCode::unavailable, "find device",
               what + ": " + (status.reason.empty() ? "no device" : status.reason),
               status.hint.empty() ? "run `hiptool devices` to see the usable ones" : status.hint);
}

std::vector<Device> usable_devices(Platforms& platforms, Platform platform, std::string_view id) {
  const PlatformStatus& status = platforms.status(platform);
  if (status.usable) return platforms.devices(platform);
  throw unusable("device " + std::string(id) + " cannot be used", status);
}

// Without an ordinal the first one.
Device device_of(Platforms& platforms, Platform platform, std::optional<int> ordinal,
                 std::string_view id) {
  const auto devices = usable_devices(platforms, platform, id);
  for (const Device& device : devices) {
    if (!ordinal || device.ordinal() == *ordinal) return device;
  }
  throw Error(ErrorCode::unavailable, "find device",
              "there is no device " + std::string(id) + ": platform " +
                  std::string(to_string(platform)) + " has " + std::to_string(devices.size()) +
                  (devices.size() == 1 ? " device" : " devices"),
              "run `hiptool devices` to see them all");
}

Device device_by_name(Platforms& platforms, std::string_view id) {
  const std::string bus_id = system::normalize_bus_id(id);
  const bool looks_like_mig = id.size() >= 8 && base::equals_ignoring_case(id.substr(0, 4), "MIG-");
  const bool looks_like_uuid =
      looks_like_mig || (id.size() >= 8 && base::equals_ignoring_case(id.substr(0, 4), "GPU-"));
  if (bus_id.empty() && !looks_like_uuid) {
    throw Error(ErrorCode::invalid_argument, "find device",
                "'" + std::string(id) + "' is not a device",
                "name it as amd:0, nvidia:1, cpu, a uuid (GPU-... or MIG-...) or a PCI bus id "
                "(0000:65:00.0)");
  }
  std::string present;
  for (const Platform platform : all_platforms) {
    for (const Device& device : platforms.devices(platform)) {
      if (core::is_lost(device)) continue;
      const DeviceInfo info = device.info();
      const auto& name = looks_like_uuid ? info.uuid : info.pci_bus_id;
      if (name) present += (present.empty() ? "" : ", ") + device.id() + " is " + *name;
      if (looks_like_uuid ? info.uuid && base::equals_ignoring_case(*info.uuid, id)
                          : info.pci_bus_id && *info.pci_bus_id == bus_id) {
        return device;
      }
    }
  }
  throw Error(ErrorCode::unavailable, "find device",
              "there is no device " + std::string(id) + (present.empty() ? "" : ": ") + present,
              looks_like_mig ? "CUDA shows a program one MIG device: choose it by "
                               "CUDA_VISIBLE_DEVICES=" +
                                   std::string(id)
                             : "run `hiptool devices` to see them all");
}

}  // namespace

Device find_device(Platforms& platforms, std::string_view id) {
  for (const Platform platform : all_platforms) {
    const std::string_view name = to_string(platform);
    if (id == name) return device_of(platforms, platform, {}, id);
    if (!id.starts_with(name) || id.size() <= name.size() || id[name.size()] != ':') continue;
    const auto ordinal = base::parse_number<int>(id.substr(name.size() + 1));
    if (ordinal && *ordinal >= 0) return device_of(platforms, platform, *ordinal, id);
  }
  return device_by_name(platforms, id);
}

}  // namespace hiptool
