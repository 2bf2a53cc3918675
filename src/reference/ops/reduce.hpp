// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>

#include "hiptool/ops_rows.hpp"
#include "reference/ops/values.hpp"

namespace hiptool::reference {

/// Sums of integers wrap. Those of floating point have a slack of (8 sqrt(k) + k / 8) u_acc
/// sqrt(sum of squares) + half an ulp of the result, none where all elements are whole multiples of
/// one number and the sum of their magnitudes is representable: then every order is exact.
Expected reduce(ops::Reduce operation, DType dtype, const Values& x,
                std::span<const std::size_t> axes, bool keep_dims);

}  // namespace hiptool::reference
