// SPDX-License-Identifier: MIT
/// What operations on images share on the host.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "hiptool/conv.hpp"
#include "ops/operands.hpp"

// Shared with the kernels.
#include <hiptool_windows.h>

namespace hiptool::ops {

/// [images, channels, height, width].
using ImageDims = std::array<std::uint64_t, 4>;

/// Throws Error(invalid_argument) unless the tensor has this rank.
void require_rank(std::string_view operation, const Tensor& tensor, std::size_t rank);

/// [images, channels, length] as [images, channels, 1, length].
Tensor as_image(const Tensor& tensor);

/// Where elements of an output are: the first one of their image and channel in a tensor, their row
/// and their column, and they themselves.
hiptool_ops::Operands<4> image_operands(const Layout& images, const Layout& out);

}  // namespace hiptool::ops
