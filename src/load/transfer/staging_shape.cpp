// SPDX-License-Identifier: MIT
#include "load/transfer/staging_shape.hpp"

#include <algorithm>

#include "load/workers.hpp"
#include "system/cache.hpp"
#include "system/numa.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t mebibyte = 1u << 20;

void choose_own_slots(StagingShape& shape, const StagingHost& host, std::uint32_t devices) {
  constexpr std::uint64_t most_bytes = 4 * mebibyte;
  if (devices > 2) {
    shape.slot_bytes = mebibyte;
    return;
  }
  const bool is_one = devices == 1;
  const std::uint64_t least_bytes = is_one ? 2 * mebibyte : mebibyte * 3 / 2;
  const std::uint64_t step_bytes = is_one ? mebibyte : mebibyte / 4;
  const std::uint64_t slots = std::uint64_t{shape.readers} * shape.slots * devices;
  if (host.cache_bytes > 0) {
    const std::uint64_t share = host.cache_bytes / (is_one ? 2 : 3) / slots;
    shape.slot_bytes = std::clamp(share / step_bytes * step_bytes, least_bytes, most_bytes);
  } else if (!is_one) {
    shape.slot_bytes = least_bytes;
  }
}

void choose_shared_slots(StagingShape& shape, const StagingHost& host) {
  constexpr std::uint64_t least_bytes = 4 * mebibyte;
  constexpr std::uint64_t most_bytes = 8 * mebibyte;
  shape.slots = 8;
  shape.parts = 16;
  const std::uint64_t share =
      host.cache_bytes > 0 ? host.cache_bytes / 3 / shape.slots : most_bytes;
  shape.slot_bytes = std::clamp(share / mebibyte * mebibyte, least_bytes, most_bytes);
}

}  // namespace

StagingHost StagingHost::of_this_process() {
  return {choose_threads(1, UINT32_MAX, 1),
          system::last_level_cache_bytes("/", system::allowed_cpus())};
}

StagingShape choose_staging(const StagingHost& host, std::uint32_t devices,
                            std::uint64_t most_bytes, bool is_shared) {
  StagingShape shape;
  // Two GPUs and 32 cores: 14 readers each load faster than 16, by 0.02 of the links.
  const std::uint32_t spared = devices > 1 ? std::min(2 * devices, host.cores / 8) : 0;
  const std::uint64_t useful = most_bytes / mebibyte + 1;
  shape.readers = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      (host.cores - spared) / devices, 1, std::min<std::uint64_t>(most_readers, useful)));
  is_shared ? choose_shared_slots(shape, host) : choose_own_slots(shape, host, devices);
  // A small model does not fill them.
  const std::uint64_t slots = shape.total_bytes() / shape.slot_bytes;
  const std::uint64_t needed = (most_bytes / slots / mebibyte + 1) * mebibyte;
  shape.slot_bytes = std::min(shape.slot_bytes, needed);
  return shape;
}

}  // namespace hiptool::load
