// SPDX-License-Identifier: MIT
/// What operations on the matrices of model files share.
#pragma once
#include <string>
#include <string_view>

#include "hiptool/backend.hpp"
#include "hiptool/ops_model.hpp"
#include "ops/layers.hpp"

namespace hiptool::ops {

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
