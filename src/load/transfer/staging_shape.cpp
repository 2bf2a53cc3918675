// SPDX-License-Identifier: MIT
#include "load/transfer/staging_shape.hpp"

#include <algorithm>

#include "load/workers.hpp"
#include "system/cache.hpp"
#include "system/numa.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t mebibyte = 1u << 20;
constexpr std::uint64_t least_slot_bytes = 2 * mebibyte;
constexpr std::uint64_t most_slot_bytes = 4 * mebibyte;

}  // namespace

StagingHost StagingHost::of_this_process() {
  return {choose_threads(1, UINT32_MAX, 1),
          system::last_level_cache_bytes("/", system::allowed_cpus())};
}

StagingShape choose_staging(const StagingHost& host, std::uint32_t devices,
                            std::uint64_t most_bytes) {
  StagingShape shape;
  // Two GPUs and 32 cores: 14 readers each load faster than 16, by 0.02 of the links.
  const std::uint32_t spared = devices > 1 ? std::min(2 * devices, host.cores / 8) : 0;
  const std::uint64_t useful = most_bytes / mebibyte + 1;
  shape.readers = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      (host.cores - spared) / devices, 1, std::min<std::uint64_t>(most_readers, useful)));
  const std::uint64_t slots = std::uint64_t{shape.readers} * shape.slots;
  if (devices > 2) {
    shape.slot_bytes = mebibyte;
  } else if (host.cache_bytes > 0) {
    const std::uint64_t share = host.cache_bytes / 2 / (slots * devices);
    shape.slot_bytes = std::clamp(share / mebibyte * mebibyte, least_slot_bytes, most_slot_bytes);
  } else if (devices > 1) {
    shape.slot_bytes = least_slot_bytes;
  }
  // A small model does not fill them.
  const std::uint64_t needed = (most_bytes / slots / mebibyte + 1) * mebibyte;
  shape.slot_bytes = std::min(shape.slot_bytes, needed);
  return shape;
}

}  // namespace hiptool::load
