// SPDX-License-Identifier: MIT
#include "ops/tiles.hpp"

#include <algorithm>

namespace hiptool::ops {

TileNumbers tile_numbers(std::size_t size_bytes) noexcept {
  const auto numbers = [](auto shape) {
    return TileNumbers{decltype(shape)::side, decltype(shape)::shared_bytes};
  };
  switch (size_bytes) {
    case 1: return numbers(hiptool_ops::TileShape<1>{});
    case 2: return numbers(hiptool_ops::TileShape<2>{});
    case 4: return numbers(hiptool_ops::TileShape<4>{});
    default: return numbers(hiptool_ops::TileShape<8>{});
  }
}

bool has_aligned_rows(const Tensor& tensor, const JoinedAxes& axes, std::size_t operand,
                      std::size_t row_axis) noexcept {
  const std::size_t size = element_size_bytes(tensor.dtype());
  bool fits = reinterpret_cast<std::uintptr_t>(tensor.address()) % 16 == 0;
  for (std::size_t axis = 0; axis < axes.count; ++axis) {
    const auto& steps = axis == row_axis ? axes.dims : axes.strides[operand];
    fits = fits && steps[axis] * size % 16 == 0;
  }
  return fits;
}

JoinedAxes axes_by_tile(const JoinedAxes& axes, std::size_t crossing, std::uint64_t side,
                        std::size_t tensors) {
  JoinedAxes by_tile = axes;
  for (const std::size_t axis : {std::size_t{0}, crossing}) {
    by_tile.dims[axis] = axes.dims[axis] / side + (axes.dims[axis] % side != 0 ? 1 : 0);
    for (std::size_t operand = 0; operand < tensors; ++operand) {
      by_tile.strides[operand][axis] *= side;
    }
  }
  by_tile.strides[tensors][0] = side;
  by_tile.strides[tensors + 1][crossing] = side;
  return by_tile;
}

LaunchConfig tiles_grid(std::uint64_t tiles, std::uint32_t shared_bytes) {
  LaunchConfig config;
  config.block.x = 256;
  config.grid.x = static_cast<std::uint32_t>(std::min<std::uint64_t>(tiles, 0x7FFFFFFF));
  config.shared_bytes = shared_bytes;
  return config;
}

}  // namespace hiptool::ops
