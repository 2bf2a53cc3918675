// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/byte_range.hpp"
#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// Bytes of one tensor that are in a chunk of the arena.
struct Piece {
  std::uint32_t file = 0;
  base::ByteRange in_file;
  std::uint64_t chunk_offset = 0;  ///< from the start of the chunk
};

/// Calls visit(Piece) for each tensor with bytes in that range of the arena, in order.
template <class Visitor>
void for_each_piece(const ModelFile& model, const ArenaLayout& layout, const base::ByteRange& chunk,
                    Visitor&& visit) {
  const auto tensors = model.tensors();
  const auto& placements = layout.placements;
  auto placement = std::ranges::partition_point(placements, [&](const Placement& candidate) {
    return candidate.device_offset + tensors[candidate.tensor].size_bytes <= chunk.offset;
  });
  for (; placement != placements.end() && placement->device_offset < chunk.end(); ++placement) {
    const TensorInfo& tensor = tensors[placement->tensor];
    const std::uint64_t first = std::max(chunk.offset, placement->device_offset);
    const std::uint64_t last = std::min(chunk.end(), placement->device_offset + tensor.size_bytes);
    if (first >= last) continue;  // an empty tensor
    visit(Piece{tensor.file,
                {tensor.file_offset + (first - placement->device_offset), last - first},
                first - chunk.offset});
  }
}

}  // namespace hiptool::load
