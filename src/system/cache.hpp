// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace hiptool::system {

/// Bytes of the last-level caches that these logical CPUs use, each cache counted once, read below
/// `root`; 0 where the kernel does not report them.
std::uint64_t last_level_cache_bytes(const std::filesystem::path& root,
                                     const std::vector<int>& cpus);

}  // namespace hiptool::system
