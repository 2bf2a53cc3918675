// SPDX-License-Identifier: MIT
#include "runtime/decoder_scales.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "hiptool/ops.hpp"

namespace hiptool::runtime {
namespace {

/// Blocks of the same extent next to each other along an axis.
struct BlockRange {
  std::uint64_t first_block, blocks, block_extent;
};

// The whole blocks, and a last one that is cut.
std::vector<BlockRange> block_ranges(std::uint64_t extent, std::uint64_t block) {
  std::vector<BlockRange> ranges;
  if (extent >= block) ranges.push_back({0, extent / block, block});
  if (extent % block > 0) ranges.push_back({extent / block, 1, extent % block});
  return ranges;
}

}  // namespace

ops::QuantisedTensor expand_scaled(const Backend& backend, const Buffer& codes,
                                   const Tensor& scales, const ScaledShape& shape) {
  const std::array<std::uint64_t, 2> dims{shape.rows, shape.columns};
  const Tensor numbers(codes, DType::f8e4m3, Layout(dims));
  const Tensor expanded = ops::cast(backend, numbers, DType::f32);
  const std::uint64_t scale_columns = shape.column_blocks();
  for (const BlockRange& down : block_ranges(shape.rows, shape.block_rows)) {
    for (const BlockRange& along : block_ranges(shape.columns, shape.block_columns)) {
      const std::array<std::uint64_t, 4> extents{down.blocks, down.block_extent, along.blocks,
                                                 along.block_extent};
      const std::array<std::uint64_t, 4> steps{shape.block_rows * shape.columns, shape.columns,
                                               shape.block_columns, 1};
      Tensor blocks =
          expanded.with_layout(Layout::strided(extents, steps,
                                               down.first_block * shape.block_rows * shape.columns +
                                                   along.first_block * shape.block_columns));
      const std::array<std::uint64_t, 4> scale_steps{scale_columns, 0, 1, 0};
      const Tensor own = scales.with_layout(Layout::strided(
          extents, scale_steps,
          scales.layout().start_offset() + down.first_block * scale_columns + along.first_block));
      ops::mul_into(backend, blocks, blocks, own);
    }
  }
  return ops::QuantisedTensor(expanded);
}

}  // namespace hiptool::runtime
