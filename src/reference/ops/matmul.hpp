// SPDX-License-Identifier: MIT
#pragma once
#include "reference/ops/values.hpp"

namespace hiptool::reference {

/// alpha a b + beta old, in long double; null: beta is 0. Batch dimensions of 1 are repeated. The
/// slack is for a sum of k rounded products, (8 sqrt(k) + k / 8) u sqrt(sum of their squares)
/// with the accumulator's unit u (f32, or f64 for f64), and half a unit of the result. There is
/// none where all products are whole and every sum of some of them is exact.
Expected matmul(DType dtype, const Values& a, const Values& b, double alpha = 1, double beta = 0,
                const Values* old = nullptr);

/// a b of whole numbers, modulo 2^32 as i32, without slack.
Expected matmul_i32(const Values& a, const Values& b);

}  // namespace hiptool::reference
