// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/ops.hpp"
#include "reference/ops/values.hpp"

namespace hiptool::reference {

/// Of two tensors of the same type and dimensions.
Expected binary(ops::Binary operation, DType dtype, const Values& a, const Values& b);
Expected compare(ops::Compare operation, const Values& a, const Values& b);

}  // namespace hiptool::reference
