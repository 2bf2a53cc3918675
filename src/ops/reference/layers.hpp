// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "ops/reference/values.hpp"

namespace hiptool::ops::reference {

// Computed in long double; results are f32. The slack of a sum of k products is
// (8 sqrt(k) + k / 8) units of f32 of the root of the sum of their squares, as for matmul.

/// x [tokens, columns] times the transposed weights [rows, columns].
Expected file_product(const Values& weights, const Values& x);

}  // namespace hiptool::ops::reference
