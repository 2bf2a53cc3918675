// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "hiptool/device.hpp"

namespace hiptool::core {

/// The device that is used if none is named.
struct DefaultDevice {
  Device device;
  /// Why this one, "the discrete GPU with the most memory"; empty where there was no choice.
  std::string reason;
};

/// The rule of default_device(), over all platforms or one. Errors as there.
DefaultDevice choose_default(Platforms& platforms, std::optional<Platform> only = {});

}  // namespace hiptool::core
