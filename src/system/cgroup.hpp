// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace hiptool::system {

/// Limits of this process by its control groups, of all levels up to the mounted root.
struct CgroupLimits {
  std::optional<double> cpu_cores;                      ///< quota over period
  std::optional<std::uint64_t> memory_bytes;            ///< smallest limit
  std::optional<std::uint64_t> available_memory_bytes;  ///< smallest of limit less use; page cache
                                                        ///< that can be dropped is no use
};

/// Versions 2 and 1, also mixed, as <root>/proc/self/cgroup names them.
CgroupLimits read_cgroup_limits(const std::filesystem::path& root);

}  // namespace hiptool::system
