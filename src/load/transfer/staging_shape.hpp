// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace hiptool::load {

/// Threads that read for one device.
inline constexpr std::uint32_t most_readers = 16;

/// The staging slots of one device.
struct StagingShape {
  std::uint32_t readers = 1;
  std::uint32_t slots = 2;  ///< of each reader
  std::uint64_t slot_bytes = 4u << 20;

  std::uint64_t total_bytes() const noexcept { return readers * slots * slot_bytes; }
};

/// What is available to a load.
struct StagingHost {
  std::uint32_t cores = 1;
  std::uint64_t cache_bytes = 0;  ///< of the last level; 0: not known

  static StagingHost of_this_process();
};

/// Readers and slots for each of several devices that are loaded at once with at most `most_bytes`.
/// Slots stay small enough for all of them to share half of the last-level cache, and large enough
/// for the link: copies of 4 MiB reach 0.97 of it, of 2 MiB 0.93. Measured on H200,
/// 300 MiB of cache, share of the link, slots of 1 / 2 / 3 / 4 MiB: two GPUs, 32 cores 0.85 / 0.88
/// to 0.90 / 0.88 / 0.63; one GPU, 16 cores - / 0.93 / - / 0.96 (docs/benchmarks.md). From three on
/// reading is slower than the links: four GPUs, 64 cores, 68 GB/s of 1 MiB and 63 of 2 MiB.
StagingShape choose_staging(const StagingHost& host, std::uint32_t devices,
                            std::uint64_t most_bytes);

}  // namespace hiptool::load
