// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace hiptool::system {

/// How the page cache is asked. Each answers for ranges and never reads from the disk to do so.
enum class ResidencyMethod {
  automatic,  ///< the first of the others that this system lets this process use
  cachestat,  ///< cachestat(2), Linux 6.5: exact, about 1 ms a GiB of a file cached in small pages
  mincore,    ///< mincore(2) on a throw-away mapping: exact, for files that this process may write
  reads,      ///< preadv2(2) with RWF_NOWAIT, one byte in 64 KiB: an estimate
};

/// A range of a file and how much of it is in the page cache.
struct ResidentRange {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t cached_bytes = 0;
};

/// Bytes of [offset, offset + size) of an open file that are in the page cache; what lies beyond
/// the end of the file counts as absent. Absent where the method does not work.
std::optional<std::uint64_t> cached_bytes(int descriptor, std::uint64_t offset,
                                          std::uint64_t size_bytes,
                                          ResidencyMethod method = ResidencyMethod::automatic);

/// The whole file in ranges of `range_bytes` (the last one shorter). Absent where nothing is known,
/// or the descriptor is not of a regular file.
std::optional<std::vector<ResidentRange>> residency(
    int descriptor, std::uint64_t range_bytes, ResidencyMethod method = ResidencyMethod::automatic);

/// How many bytes of a regular file are in the page cache.
std::optional<std::uint64_t> cached_bytes(const std::filesystem::path& file);

}  // namespace hiptool::system
