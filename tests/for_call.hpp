// SPDX-License-Identifier: MIT
#pragma once
#include "hiptool/tensor.hpp"

namespace hiptool::test {

/// A tensor that is made for one call, as the destination of that call.
inline Tensor& for_call(Tensor&& made) { return made; }

}  // namespace hiptool::test
