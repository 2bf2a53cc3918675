// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace hiptool::system {

/// Bytes of the last-level caches that these logical CPUs use, each cache counted once, read below
/// `root`; 0 where the kernel does not report them.
std::uint64_t last_level_cache_bytes(const std::filesystem::path& root,
                                     const std::vector<int>& cpus);

/// A cache of one core.
struct CpuCache {
  std::string name;  ///< "L1d", "L2"
  std::uint64_t size_bytes = 0;
};

/// The caches of the first logical CPU in the order of their levels, read below `root`; empty where
/// the kernel does not report them.
std::vector<CpuCache> cpu_caches(const std::filesystem::path& root);

/// What the instruction set of the first logical CPU has for vectors and matrices, as
/// /proc/cpuinfo below `root` names it: "avx2", "avx512f", "amx_tile", "sve"; in a fixed order.
std::vector<std::string> cpu_features(const std::filesystem::path& root);

}  // namespace hiptool::system
