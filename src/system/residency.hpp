// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace hiptool::system {

/// How the page cache is queried; no method waits for the disk. The costs are those of a file
/// cached in pages of 4 KiB, on two cores of a virtual machine; large folios cost a hundredth.
enum class ResidencyMethod {
  automatic,  ///< the first of the others that this system lets this process use
  cachestat,  ///< cachestat(2), Linux 6.5: exact; 3 to 10 ms a GiB
  /// mincore(2) on a throw-away mapping: exact, for files that this process may write; 15 to 25 ms
  /// a GiB
  mincore,
  /// preadv2(2) with RWF_NOWAIT, one byte in 64 KiB: an estimate, because the kernel starts to read
  /// a page that is absent, and a fast disk may answer in time; 20 ms a GiB
  reads,
};

/// Bytes of [offset, offset + size) of an open file that are in the page cache; bytes beyond
/// the end of the file count as absent. Absent where the method does not work, or the descriptor
/// is not of a regular file.
std::optional<std::uint64_t> cached_bytes(int descriptor, std::uint64_t offset,
                                          std::uint64_t size_bytes,
                                          ResidencyMethod method = ResidencyMethod::automatic);

/// How many bytes of a regular file are in the page cache.
std::optional<std::uint64_t> cached_bytes(const std::filesystem::path& file);

/// The same from a sample, 64 KiB of each MiB: files come into the cache in long runs, and counting
/// every page of a large one takes longer than a start of the device leaves (below 10 ms for 13 GiB
/// against 100). Exact for a range that is cached completely or not at all.
std::optional<std::uint64_t> estimate_cached_bytes(int descriptor, std::uint64_t offset,
                                                   std::uint64_t size_bytes);
std::optional<std::uint64_t> estimate_cached_bytes(const std::filesystem::path& file);

}  // namespace hiptool::system
