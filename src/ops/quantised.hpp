// SPDX-License-Identifier: MIT
/// What operations on the matrices of model files share.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hiptool/backend.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_rows.hpp"
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

/// A matrix whose products with vectors go to `out`.
struct WeightsProduct {
  const QuantisedTensor* weights;
  Tensor* out;
};

inline constexpr std::size_t most_products = 3;

/// An RMS norm in front of products: rmsnorm_into(normed, x, *weight, epsilon).
struct InputNorm {
  const Tensor* weight;  ///< shares no memory with the products
  double epsilon;
  Tensor normed;  ///< written unless the kernels of the products compute the norm
};

/// Vectors [tokens, columns], or what a norm makes of them.
struct ProductInput {
  ProductInput(const Tensor& vectors) : x(vectors) {}
  ProductInput(const Tensor& vectors, const InputNorm& of_these) : x(vectors), norm(of_these) {}

  Tensor x;
  std::optional<InputNorm> norm = std::nullopt;
};

/// Whether the kernels of these products compute the norm of x [tokens, columns], with the bits of
/// rmsnorm_into: on NVIDIA GPUs for one token of whole pieces, where its elements and the norm's
/// weights are contiguous, at multiples of 16 bytes.
bool can_norm_input(const Backend& backend, std::span<const WeightsProduct> products,
                    const Tensor& x, const InputNorm& norm);

/// Products of the input with up to three matrices, with the bits of quantised_matmul: in one
/// launch for one token and matrices of one type.
void quantised_matmuls_into(const Backend& backend, std::span<const WeightsProduct> products,
                            const ProductInput& input);

/// sum += the product, with the bits of add_into(sum, sum, product): in one launch for one token,
/// else by way of `product`.
void add_quantised_matmul_into(const Backend& backend, Tensor& sum, const QuantisedTensor& weights,
                               const Tensor& x, Tensor& product);

/// out = gate(product with `gates`) * (product with `values`), with the bits of quantised_matmul
/// and gate_into: in one launch for one token, matrices of one type and Gate::silu or Gate::gelu,
/// else by way of `scratch`, which has the shape of `out`.
void gated_quantised_matmul_into(const Backend& backend, Tensor& out, Gate kind,
                                 const QuantisedTensor& gates, const QuantisedTensor& values,
                                 const ProductInput& input, Tensor& scratch);

}  // namespace hiptool::ops
