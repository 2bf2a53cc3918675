// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/ops.hpp"
#include "ops/reference/values.hpp"

namespace hiptool::ops::reference {

/// Of two tensors of the same type and dimensions.
Expected binary(Binary operation, DType dtype, const Values& a, const Values& b);
Expected compare(Compare operation, const Values& a, const Values& b);

}  // namespace hiptool::ops::reference
