// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/conv.hpp"
#include "reference/ops/values.hpp"

namespace hiptool::reference {

/// Sums of integers wrap at 64 bits. Those of floating point have a slack of (8 sqrt(k) + k / 8)
/// u_acc sqrt(sum of squares) / k, a unit of the accumulator for the division and half an ulp of
/// the result; none where the sum is exact in any order.
Expected avg_pool2d(DType dtype, const Values& x, const ops::HeightWidth& kernel,
                    const ops::HeightWidth& stride);
/// A library may multiply by the reciprocal of the window's size, as cuDNN does: three roundings
/// where the reference divides once. Adds them to the slack of an average.
void allow_reciprocal(DType dtype, std::uint64_t window, Expected& expected);
Expected max_pool2d(const Values& x, const ops::HeightWidth& kernel,
                    const ops::HeightWidth& stride);

/// Of the last axes, as many as there are sizes.
Values upsample_nearest(const Values& x, std::span<const std::uint64_t> size);

/// Positions in f64, as stated, interpolation in long double; the slack allows for its operations
/// in the accumulator.
Expected upsample_bilinear2d(DType dtype, const Values& x, const ops::HeightWidth& size,
                             const ops::BilinearOptions& options);

}  // namespace hiptool::reference
