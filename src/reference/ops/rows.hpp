// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

#include "hiptool/ops_rows.hpp"
#include "reference/ops/values.hpp"

namespace hiptool::reference {

// Computed in long double. The slack allows some units of the accumulator (f32, or f64 for f64) for
// each step of the text-book formula, w / 32 + 16 of them for a sum over a row of w elements, and
// one unit of the result.

Expected softmax(DType dtype, const Values& x, std::size_t axis, bool is_log);
/// Null bias: none; not centred: rmsnorm.
Expected normalise(DType dtype, const Values& x, const Values& weight, const Values* bias,
                   bool is_centred, double epsilon);
/// x [.., tokens, heads, width], tables [tokens, pairs].
Expected rope(DType dtype, const Values& x, const Values& cosines, const Values& sines,
              RopePairs pairs);
Expected gate(DType dtype, ops::Gate kind, const Values& gates, const Values& up);

}  // namespace hiptool::reference
