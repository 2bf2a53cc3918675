// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

#include "system/pci.hpp"

namespace hiptool::system {

/// The option that gives a container the AMD GPUs.
inline constexpr const char* amd_container_option = "--device /dev/kfd --device /dev/dri";

/// Version of the loaded NVIDIA kernel driver, "580.159.04" (/sys/module/nvidia/version, else
/// /proc/driver/nvidia/version); empty if it is not loaded.
std::string nvidia_driver_version(const std::filesystem::path& root);

/// Version of the loaded amdgpu driver: its DKMS version (/sys/module/amdgpu/version), else the
/// kernel release for the driver of the kernel itself; empty if it is not loaded.
std::string amdgpu_driver_version(const std::filesystem::path& root);

/// Why this platform's GPUs are seen in hardware but not usable, from files only; a sentence and
/// what to do. Empty reason: files show nothing wrong or no such hardware.
struct DriverFinding {
  std::string reason;
  std::string hint;
};
DriverFinding explain_amd(const std::filesystem::path& root);
DriverFinding explain_nvidia(const std::filesystem::path& root);

/// Why this one GPU is not bound to the driver that its platform needs; empty where it is.
DriverFinding explain_binding(const std::filesystem::path& root, const PciDevice& gpu);

}  // namespace hiptool::system
