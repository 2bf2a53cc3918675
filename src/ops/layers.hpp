// SPDX-License-Identifier: MIT
/// What the operations of a decoder's layers share on the host.
#pragma once
#include <cstddef>
#include <string_view>

#include "ops/operands.hpp"

// Shared with the kernels.
#include <hiptool_layers.h>

namespace hiptool::ops {

/// Throws Error(invalid_argument) unless the tensor is f32 of this rank.
void require_activations(std::string_view operation, const Tensor& x, std::size_t rank);

/// The tensor, or a copy of it whose last axis has neighbours.
Tensor with_neighbours(const Backend& backend, const Tensor& x);

/// Whether all rows along the last axis, which has neighbours, consist of four elements each at
/// multiples of 16 bytes.
bool has_whole_pieces(const Tensor& x);

}  // namespace hiptool::ops
