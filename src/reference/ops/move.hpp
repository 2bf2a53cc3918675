// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>

#include "reference/ops/values.hpp"

namespace hiptool::reference {

/// One after the other along an axis.
Values concat(std::span<const Values> tensors, std::size_t axis);

/// `destination` after rows of `source` were copied into it; all numbers in elements.
Values copy_2d(const Values& source, const Values& destination, std::uint64_t rows,
               std::uint64_t columns, std::uint64_t source_stride, std::uint64_t destination_stride,
               std::uint64_t source_offset, std::uint64_t destination_offset);

}  // namespace hiptool::reference
