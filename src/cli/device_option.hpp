// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::cli {

/// What --device, --platform and HIPTOOL_DEVICE asked for.
struct DeviceSelection {
  std::vector<std::string> ids;      ///< "nvidia:0", "cpu", "all", uuid, bus id; empty: the default
  std::optional<Platform> platform;  ///< only devices of this one
  bool is_explicit = false;          ///< asked on the command line, not by the environment
};

/// Takes the texts of --device apart. Throws Error(invalid_argument) naming `what` for empty parts.
std::vector<std::string> parse_device_ids(const std::vector<std::string>& texts,
                                          const std::string& what);

Platform parse_platform(const std::string& text);

/// The devices asked for, each once, in the order asked. "all" is every GPU of every usable
/// platform and, only where no GPU hardware exists, the cpu. Throws Error(unavailable) with the
/// platform's reason where a device or platform cannot be used, and Error(invalid_argument) for an
/// id that
/// --platform excludes.
std::vector<Device> choose_devices(Platforms& platforms, const DeviceSelection& selection);

}  // namespace hiptool::cli
