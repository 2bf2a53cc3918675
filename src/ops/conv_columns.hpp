// SPDX-License-Identifier: MIT
/// Convolutions as products of matrices. All tensors have been checked, and have elements.
#pragma once
#include "hiptool/conv.hpp"

namespace hiptool::ops {

/// x [images, in channels, height, width], weights [out channels, in channels / groups, kernel
/// height, kernel width].
void run_conv(const Backend& backend, const Tensor& x, const Tensor& weights,
              const ConvOptions& options, const Tensor& out);

/// Weights [in channels, out channels / groups, kernel height, kernel width].
void run_conv_transpose(const Backend& backend, const Tensor& x, const Tensor& weights,
                        const ConvOptions& options, const Tensor& out);

}  // namespace hiptool::ops
