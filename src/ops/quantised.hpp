// SPDX-License-Identifier: MIT
/// What operations on the matrices of model files share.
#pragma once
#include <string>
#include <string_view>

#include "hiptool/backend.hpp"
#include "hiptool/ops_model.hpp"
#include "ops/layers.hpp"

namespace hiptool::ops {

/// Columns of matrices that one thread takes at a time.
inline constexpr std::uint64_t piece_columns = hiptool_ops::dot_piece;

/// Whether vectors consist of such pieces, at multiples of 16 bytes.
inline bool has_dot_pieces(const Tensor& vectors) {
  return has_whole_pieces(vectors) && vectors.dims().back() % piece_columns == 0;
}

/// "Q4_0[96, 256]".
std::string describe_weights(const QuantisedTensor& weights);

/// The kernels' description of a matrix.
hiptool_ops::FileMatrix file_matrix(const QuantisedTensor& weights);

/// The tables of a type's codes, which the first call copies to the device; null for plain numbers.
const void* grids_of(const Backend& backend, const hiptool_ops::FileMatrix& matrix);

/// Throws Error(invalid_argument) unless the weights are on the Backend's device.
void require_weights_device(const Backend& backend, std::string_view operation,
                            const QuantisedTensor& weights);

}  // namespace hiptool::ops
