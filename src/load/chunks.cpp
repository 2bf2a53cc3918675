// SPDX-License-Identifier: MIT
#include "load/chunks.hpp"

#include <algorithm>

#include "load/leaves.hpp"

namespace hiptool::load {
namespace {

// The last place at or before `end` where the arena may be cut; at or before `begin` if there is
// none.
std::uint64_t cut_before(const ModelFile& model, const ArenaLayout& layout, std::uint64_t end) {
  const auto& placements = layout.placements;
  const auto next = std::partition_point(
      placements.begin(), placements.end(),
      [&](const Placement& placement) { return placement.device_offset < end; });
  if (next == placements.begin()) return end;
  const Placement& placement = *std::prev(next);
  const std::uint64_t offset = end - placement.device_offset;
  if (offset >= model.tensors()[placement.tensor].size_bytes) return end;  // in a gap
  return placement.device_offset + offset / leaf_bytes * leaf_bytes;
}

}  // namespace

std::vector<Chunk> cut_chunks(const ModelFile& model, const ArenaLayout& layout,
                              std::uint64_t most_bytes) {
  std::vector<Chunk> chunks;
  for (std::uint64_t begin = 0; begin < layout.arena_bytes;) {
    std::uint64_t end = layout.arena_bytes;
    if (end - begin > most_bytes) {
      const std::uint64_t cut = cut_before(model, layout, begin + most_bytes);
      end = cut > begin ? cut : begin + most_bytes;
    }
    chunks.push_back({begin, end});
    begin = end;
  }
  return chunks;
}

}  // namespace hiptool::load
