// SPDX-License-Identifier: MIT
#include "cli/device_option.hpp"
#include "base/contains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "core/default_device.hpp"
#include "hiptool/error.hpp"

namespace hiptool::cli {
namespace {

// "CPU" and "NVIDIA:0" as cpu and nvidia:0; uuids and bus ids as they are.
std::string in_usual_case(const std::string& id) {
  const std::size_t end = std::min(id.find(':'), id.size());
  for (const std::string_view name : {"amd", "nvidia", "cpu", "all"}) {
    if (base::equals_ignoring_case(std::string_view(id).substr(0, end), name)) {
      return std::string(name) + id.substr(end);
    }
  }
  return id;
}

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

std::vector<std::string> parse_device_ids(const std::vector<std::string>& texts,
                                          const std::string& what) {
  std::vector<std::string> ids;
  for (const std::string& text : texts) {
    for (const std::string& id : split_list(text, what)) ids.push_back(in_usual_case(id));
  }
  return ids;
}

Platform parse_platform(const std::string& word) {
  const std::string text = choice_of(word, {"amd", "nvidia", "cpu"}, "--platform");
  if (text == "amd") return Platform::amd;
  return text == "nvidia" ? Platform::nvidia : Platform::cpu;
}

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

}  // namespace hiptool::cli
