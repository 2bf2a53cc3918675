// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

#include "hiptool/load_plan.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// Bytes of one tensor that fall into a range of the arena.
struct Piece {
  std::uint32_t file = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t range_offset = 0;  ///< from the start of the range
  std::uint64_t size_bytes = 0;
};

/// Calls visit(Piece) for each tensor with bytes in [begin, end) of the arena, in order.
template <class Visitor>
void for_each_piece(const ModelFile& model, const ArenaLayout& layout, std::uint64_t begin,
                    std::uint64_t end, Visitor&& visit) {
  const auto tensors = model.tensors();
  const auto& placements = layout.placements;
  auto placement =
      std::partition_point(placements.begin(), placements.end(), [&](const Placement& candidate) {
        return candidate.device_offset + tensors[candidate.tensor].size_bytes <= begin;
      });
  for (; placement != placements.end() && placement->device_offset < end; ++placement) {
    const TensorInfo& tensor = tensors[placement->tensor];
    const std::uint64_t first = std::max(begin, placement->device_offset);
    const std::uint64_t last = std::min(end, placement->device_offset + tensor.size_bytes);
    if (first >= last) continue;  // an empty tensor
    visit(Piece{tensor.file, tensor.file_offset + (first - placement->device_offset), first - begin,
                last - first});
  }
}

}  // namespace hiptool::load
