// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/conv.hpp"
#include "reference/ops/values.hpp"

namespace hiptool::reference {

// Text-book sums over [images, channels, height, width] in long double. With k = input channels of
// a group times elements of the kernel, the slack is (8 sqrt(k) + k / 8) u_acc sqrt(sum of squared
// products) + half an ulp of the result + the least number of the accumulator for each product.
// Equal products count as one where weights of a channel repeat. There is no slack where all
// products are whole numbers and every partial sum fits the accumulator.

Expected conv2d(DType dtype, const Values& x, const Values& weights,
                const ops::ConvOptions& options);
Expected conv_transpose2d(DType dtype, const Values& x, const Values& weights,
                          const ops::ConvOptions& options);

/// The same for [images, channels, length].
Expected conv1d(DType dtype, const Values& x, const Values& weights,
                const ops::Conv1dOptions& options);
Expected conv_transpose1d(DType dtype, const Values& x, const Values& weights,
                          const ops::Conv1dOptions& options);

}  // namespace hiptool::reference
