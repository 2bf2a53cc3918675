// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "hiptool/ops.hpp"

namespace hiptool::ops {

/// The number in an integer dtype, and in a floating-point one, in which it is rounded once. The
/// functions' results hold it exactly.
std::int64_t whole_in(const Scalar& number, DType dtype) noexcept;
double real_in(const Scalar& number, DType dtype) noexcept;

/// Its element, in the lower bytes.
std::uint64_t bits_in(const Scalar& number, DType dtype) noexcept;

}  // namespace hiptool::ops
