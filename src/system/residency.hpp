// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace hiptool::system {

/// How many bytes of a file are in the page cache: by cachestat where the kernel has it
/// (Linux 6.5), else by mincore on a mapping that is never read. Absent where neither works. Does
/// not block on the disk.
std::optional<std::uint64_t> cached_bytes(const std::filesystem::path& file);

}  // namespace hiptool::system
