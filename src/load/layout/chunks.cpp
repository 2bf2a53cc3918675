// SPDX-License-Identifier: MIT
#include "load/layout/chunks.hpp"

#include <algorithm>
#include <iterator>

#include "load/layout/blocks.hpp"

namespace hiptool::load {
namespace {

// The last place at or before `end` where the arena may be cut; at or before `begin` if there is
// none.
std::uint64_t cut_before(const ModelFile& model, const ArenaLayout& layout, std::uint64_t end) {
  const auto& placements = layout.placements;
  const auto next = std::ranges::partition_point(
      placements, [&](const Placement& placement) { return placement.device_offset < end; });
  if (next == placements.begin()) return end;
  const Placement& placement = *std::prev(next);
  const std::uint64_t offset = end - placement.device_offset;
  if (offset >= model.tensors()[placement.tensor].size_bytes) return end;  // in a gap
  return placement.device_offset + offset / block_bytes * block_bytes;
}

// Below it the cost of a copy call shows.
constexpr std::uint64_t least_ramp_bytes = 1u << 20;

// An eighth of a chunk for each reader, then a quarter, a half, and down again at the end, where a
// reader's share of what is left bounds the chunk.
std::uint64_t ramped_bytes(std::uint64_t done_bytes, std::uint64_t left_bytes,
                           std::uint64_t most_bytes, std::uint32_t readers) {
  const std::uint64_t least = std::min(most_bytes, least_ramp_bytes);
  const std::uint64_t first = std::max(most_bytes / 8, least);
  const std::uint64_t rising = std::max(first, done_bytes / readers);
  const std::uint64_t falling = std::max(least, left_bytes / (2 * std::uint64_t{readers}));
  return std::min({most_bytes, rising, falling});
}

}  // namespace

std::vector<base::ByteRange> cut_chunks(const ModelFile& model, const ArenaLayout& layout,
                                        std::uint64_t most_bytes, std::uint32_t readers) {
  std::vector<base::ByteRange> chunks;
  for (std::uint64_t begin = 0; begin < layout.arena_bytes;) {
    std::uint64_t end = layout.arena_bytes;
    const std::uint64_t size_bytes =
        readers == 0 ? most_bytes : ramped_bytes(begin, end - begin, most_bytes, readers);
    if (end - begin > size_bytes) {
      const std::uint64_t cut = cut_before(model, layout, begin + size_bytes);
      end = cut > begin ? cut : begin + size_bytes;
    }
    chunks.push_back({begin, end - begin});
    begin = end;
  }
  return chunks;
}

base::ByteRange part_of(const ModelFile& model, const ArenaLayout& layout,
                        const base::ByteRange& chunk, std::uint32_t part, std::uint32_t parts) {
  const auto begin_of = [&](std::uint32_t number) {
    if (number == 0) return chunk.offset;
    if (number == parts) return chunk.end();
    const std::uint64_t end = chunk.offset + chunk.size_bytes * number / parts;
    return std::max(chunk.offset, cut_before(model, layout, end));
  };
  const std::uint64_t begin = begin_of(part);
  return {begin, begin_of(part + 1) - begin};
}

}  // namespace hiptool::load
