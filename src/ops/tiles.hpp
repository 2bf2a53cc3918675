// SPDX-License-Identifier: MIT
/// Tiles in shared memory, by which kernels exchange two axes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiptool/kernel.hpp"
#include "hiptool/tensor.hpp"
#include "ops/operands.hpp"

// Shared with the kernels; after the types of 64 bits that operands.hpp gives them.
#include <hiptool_moves.h>

namespace hiptool::ops {

struct TileNumbers {
  std::uint64_t side;
  std::uint32_t shared_bytes;
};

/// hiptool_ops::TileShape of elements of that size.
TileNumbers tile_numbers(std::size_t size_bytes) noexcept;

/// Whether all rows along one axis consist of 16 bytes at multiples of 16.
bool has_aligned_rows(const Tensor& tensor, const JoinedAxes& axes, std::size_t operand,
                      std::size_t row_axis) noexcept;

/// Places of tiles by their index, with steps of one side along axis 0 and the crossing axis. The
/// last two operands are the numbers of the first row along each.
template <unsigned count>
hiptool_ops::Operands<count> make_tiles(const JoinedAxes& axes, std::size_t crossing,
                                        std::uint64_t side);

/// One block for each tile.
LaunchConfig tiles_grid(std::uint64_t tiles, std::uint32_t shared_bytes);

// ---- implementation

JoinedAxes axes_by_tile(const JoinedAxes& axes, std::size_t crossing, std::uint64_t side,
                        std::size_t tensors);

template <unsigned count>
hiptool_ops::Operands<count> make_tiles(const JoinedAxes& axes, std::size_t crossing,
                                        std::uint64_t side) {
  const JoinedAxes by_tile = axes_by_tile(axes, crossing, side, count - 2);
  hiptool_ops::Operands<count> tiles{};
  set_axes(by_tile, tiles.divisors, tiles.dims, tiles.axes, tiles.is_wide);
  tiles.count = 1;
  for (std::size_t axis = 0; axis < by_tile.count; ++axis) tiles.count *= by_tile.dims[axis];
  for (std::size_t operand = 0; operand < count; ++operand) {
    std::copy_n(by_tile.strides[operand].begin(), by_tile.count, tiles.strides[operand]);
  }
  return tiles;
}

}  // namespace hiptool::ops
