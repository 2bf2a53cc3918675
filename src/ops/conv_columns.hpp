// SPDX-License-Identifier: MIT
/// Convolutions as products of matrices. All tensors have been checked, and have elements.
#pragma once
#include "hiptool/conv.hpp"
#include "ops/images.hpp"

namespace hiptool::ops {

/// x [images, in channels, height, width], weights [out channels, in channels / groups, kernel
/// height, kernel width].
void run_conv(const Backend& backend, const Tensor& x, const Tensor& weights,
              const ConvOptions& options, Tensor& out);

/// Weights [in channels, out channels / groups, kernel height, kernel width].
void run_conv_transpose(const Backend& backend, const Tensor& x, const Tensor& weights,
                        const ConvOptions& options, Tensor& out);

/// Whether one thread should make each result, instead of products of matrices.
bool is_direct(const Tensor& weights, const ConvOptions& options, bool is_transposed);
void run_direct(const Backend& backend, const Tensor& x, const Tensor& weights,
                const ConvOptions& options, bool is_transposed, Tensor& out);

/// Of the height (0) or width (1), with that many results along it.
hiptool_ops::FoldAxis fold_axis(const Tensor& x, const Tensor& weights, const ConvOptions& options,
                                std::size_t i, std::uint64_t results, std::uint32_t& is_wide);

/// [images, groups, channels of a group, height, width].
Layout split_channels(const Tensor& out, std::uint64_t groups);

}  // namespace hiptool::ops
