// SPDX-License-Identifier: MIT
/// Which devices a run is for.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "hiptool/device.hpp"
#include "hiptool/platform.hpp"

namespace hiptool::machine {

bool is_gpu(Platform platform) noexcept;

/// The devices that --device, --platform and HIPTOOL_DEVICE select.
struct DeviceSelection {
  std::vector<std::string> ids;      ///< "nvidia:0", "cpu", "all", uuid, bus id; empty: the default
  std::optional<Platform> platform;  ///< only devices of this one
  bool is_explicit = false;          ///< selected on the command line, not by the environment
  std::vector<int> nvidia_ordinals = {};  ///< of those left visible, where the command hid some
};

/// The selected devices in the order given, without repeats. "all" is every GPU of every usable
/// platform, or the cpu on a machine without GPU hardware. Throws Error(unavailable) with the
/// platform's reason if a device or platform cannot be used, and Error(invalid_argument) for an id
/// that --platform excludes.
std::vector<Device> choose_devices(Platforms& platforms, const DeviceSelection& selection);

/// "amd:1 by default: the discrete GPU with the most memory"; empty if devices were selected or
/// there was no choice.
std::string explain_default(Platforms& platforms, const DeviceSelection& selection);

/// Whether the selection is for devices of the cpu platform alone.
bool is_for_cpu_only(const DeviceSelection& selection);

}  // namespace hiptool::machine
