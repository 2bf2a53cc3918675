// SPDX-License-Identifier: MIT
#include "core/free_ranges.hpp"

#include <cassert>
#include <iterator>

namespace hiptool::core {

FreeRanges::FreeRanges(std::uint64_t base_address, std::uint64_t capacity_bytes)
    : base_address_(base_address) {
  if (capacity_bytes == 0) return;
  blocks_[0].size_bytes = capacity_bytes;
  free_.emplace(capacity_bytes, 0);
}

std::optional<FreeRanges::Place> FreeRanges::find(std::uint64_t size_bytes,
                                                  std::uint64_t alignment_bytes) const {
  for (auto range = free_.lower_bound({size_bytes, 0}); range != free_.end(); ++range) {
    const auto [free_bytes, offset] = *range;
    const std::uint64_t beyond = (base_address_ + offset) % alignment_bytes;
    const std::uint64_t front_bytes = beyond == 0 ? 0 : alignment_bytes - beyond;
    if (front_bytes <= free_bytes - size_bytes) return Place{range, front_bytes};
  }
  return std::nullopt;
}

std::optional<std::uint64_t> FreeRanges::take(std::uint64_t size_bytes,
                                              std::uint64_t alignment_bytes) {
  const auto place = find(size_bytes, alignment_bytes);
  if (!place) return std::nullopt;
  const auto [free_bytes, start] = *place->range;
  const std::uint64_t offset = start + place->front_bytes;
  const std::uint64_t rest_bytes = free_bytes - place->front_bytes - size_bytes;

  // All memory first: from here on nothing may fail.
  Blocks new_blocks;
  BySize new_free;
  BySize::node_type spare;
  if (place->front_bytes > 0) {
    new_blocks[offset].size_bytes = size_bytes;
    new_free.emplace(0, 0);
    spare = new_free.extract(new_free.begin());
  }
  if (rest_bytes > 0) {
    new_blocks[offset + size_bytes].size_bytes = rest_bytes;
    new_free.emplace(rest_bytes, offset + size_bytes);
  }

  auto own = free_.extract(place->range);
  if (place->front_bytes > 0) {
    blocks_[start].size_bytes = place->front_bytes;
    own.value().first = place->front_bytes;
    free_.insert(std::move(own));
    own = std::move(spare);
  } else {
    blocks_[start].size_bytes = size_bytes;
  }
  blocks_.merge(new_blocks);
  free_.merge(new_free);
  blocks_[offset].spare = std::move(own);
  return offset;
}

void FreeRanges::give_back(std::uint64_t offset) noexcept {
  auto block = blocks_.find(offset);
  assert(block != blocks_.end() && !block->second.spare.empty() && "not a taken block");
  auto own = std::move(block->second.spare);
  const auto is_free = [](const Blocks::value_type& other) { return other.second.spare.empty(); };
  if (const auto next = std::next(block); next != blocks_.end() && is_free(*next)) {
    free_.erase({next->second.size_bytes, next->first});
    block->second.size_bytes += next->second.size_bytes;
    blocks_.erase(next);
  }
  if (block != blocks_.begin() && is_free(*std::prev(block))) {
    const auto previous = std::prev(block);
    free_.erase({previous->second.size_bytes, previous->first});
    previous->second.size_bytes += block->second.size_bytes;
    blocks_.erase(block);
    block = previous;
  }
  own.value() = {block->second.size_bytes, block->first};
  free_.insert(std::move(own));
}

std::uint64_t FreeRanges::largest_bytes() const noexcept {
  return free_.empty() ? 0 : free_.rbegin()->first;
}

}  // namespace hiptool::core
