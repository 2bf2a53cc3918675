// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hiptool::system {

/// The memory of an AMD GPU as the amdgpu driver reports it.
struct Vram {
  std::string bus_id;    ///< "0000:65:00.0"
  int render_minor = 0;  ///< of /dev/dri/renderD<minor>
  std::uint64_t total_bytes = 0;
  std::optional<std::uint64_t> used_bytes;  ///< at this moment
};

/// mem_info_vram_total and mem_info_vram_used below <root>/sys/class/drm/renderD*/device (kernel
/// documentation, "AMDGPU driver information"). In the order of the KFD topology's nodes, which is
/// the order in which the HIP runtime counts devices, else by minor number; render nodes without
/// these files (other vendors) are left out.
std::vector<Vram> read_vram(const std::filesystem::path& root);

}  // namespace hiptool::system
