// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace hiptool::load {

/// Threads that read for one device.
inline constexpr std::uint32_t most_readers = 16;

/// The staging slots of one device.
struct StagingShape {
  std::uint32_t readers = 1;
  std::uint32_t slots = 2;  ///< of each reader, or of all
  std::uint64_t slot_bytes = 4u << 20;
  std::uint32_t parts = 1;  ///< more than one: readers share all slots and fill them in parts

  std::uint64_t total_bytes() const noexcept {
    return std::uint64_t{parts > 1 ? 1 : readers} * slots * slot_bytes;
  }
};

/// What is available to a load.
struct StagingHost {
  std::uint32_t cores = 1;
  std::uint64_t cache_bytes = 0;  ///< of the last level; 0: not known

  static StagingHost of_this_process();
};

/// Readers and slots for each of several devices that are loaded at once with at most `most_bytes`.
///
/// Shared slots are for one device and files in the page cache: eight of up to 8 MiB, which all
/// readers fill in parts: a third of the last-level cache, or 32 MiB if that is more. Large copies
/// leave the link idle less often: 0.977 of the link of an H200, 0.950 with own slots of 4 MiB
/// (twelve shared ones of 4 MiB: 0.958). Two H200 are loaded slower through them, by 0.15 and more.
///
/// Otherwise each reader has two slots of its own, large enough for the link, and small enough for
/// all of them to stay in the last-level cache: half of it for one GPU (16 cores, 300 MiB: 0.93 of
/// the link with 2 MiB, 0.96 with 4 MiB), a third for two. Where other programs use the cache too,
/// slots of half of it leave it, and two GPUs are loaded slower by a tenth; smaller ones cost 0.02
/// at most (docs/benchmarks.md, "Two GPUs"). From three on reading is slower than the links: four
/// GPUs, 64 cores, 68 GB/s of 1 MiB and 63 of 2 MiB.
StagingShape choose_staging(const StagingHost& host, std::uint32_t devices,
                            std::uint64_t most_bytes, bool is_shared);

}  // namespace hiptool::load
