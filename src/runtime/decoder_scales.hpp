// SPDX-License-Identifier: MIT
/// Matrices in FP8 with a scale for each block.
#pragma once
#include <cstdint>

#include "hiptool/backend.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/tensor.hpp"

namespace hiptool::runtime {

/// Extents of a matrix and of its blocks, of which the last ones may be cut.
struct ScaledShape {
  std::uint64_t rows, columns, block_rows, block_columns;

  std::uint64_t row_blocks() const { return (rows + block_rows - 1) / block_rows; }
  std::uint64_t column_blocks() const { return (columns + block_columns - 1) / block_columns; }
};

/// Queues codes x scales as f32, each product rounded once: codes in F8_E4M3 of whole rows, scales
/// f32 [row_blocks() x column_blocks()].
ops::QuantisedTensor expand_scaled(const Backend& backend, const Buffer& codes,
                                   const Tensor& scales, const ScaledShape& shape);

}  // namespace hiptool::runtime
