// SPDX-License-Identifier: MIT
/// Products of one token with matrices of model files, from their shapes to the kernels.
#pragma once
#include <span>

#include "ops/quantised.hpp"

namespace hiptool::ops {

/// What kernels read: vectors with neighbours, and the norm that they compute of these.
struct TokenInput {
  Tensor vectors;
  const InputNorm* norm = nullptr;
};

hiptool_ops::FileProduct file_product(const Tensor& out, const QuantisedTensor& weights,
                                      const Tensor& vectors);

/// One launch for up to three matrices of one type. `added` is added to the first product; null:
/// nothing. A gate is for two matrices and has the first one's output.
void launch_token_products(const Backend& backend, std::span<const WeightsProduct> products,
                           const TokenInput& input, const Tensor* added,
                           hiptool_ops::ProductGate gate = hiptool_ops::ProductGate::none);

}  // namespace hiptool::ops
