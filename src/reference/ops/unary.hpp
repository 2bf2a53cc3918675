// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/ops.hpp"
#include "reference/ops/values.hpp"

namespace hiptool::reference {

/// Of a tensor of that type, whose parameters are rounded to it. With slack where the functions of
/// mathematics are not rounded correctly: 2 units in the last place for f32 and f64; for shorter
/// types half of one and what rounding the result in f32 adds.
Expected unary(ops::Unary operation, DType dtype, const Values& x);
Expected powf(DType dtype, const Values& x, double exponent);
Expected elu(DType dtype, const Values& x, double alpha);
Expected affine(DType dtype, const Values& x, const ops::Scalar& factor, const ops::Scalar& addend);

/// bias of one dimension, x of two.
Expected row_bias(DType dtype, const Values& x, const Values& bias);

Expected where_cond(const Values& condition, const Values& on_true, const Values& on_false);
Expected cast(DType from, DType to, const Values& x);

/// `like` gives the dimensions.
Expected fill(DType dtype, const Values& like, const ops::Scalar& value);

}  // namespace hiptool::reference
