// SPDX-License-Identifier: MIT
/// What reductions and row-wise operations share on the host.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "ops/operands.hpp"

// Shared with the kernels.
#include <hiptool_rows.h>

namespace hiptool::ops {

constexpr std::uint64_t ceil_divide(std::uint64_t count, std::uint64_t by) {
  return count / by + (count % by != 0 ? 1 : 0);
}

/// Throws Error(unsupported) unless the dtype is f16, bf16, f32 or f64.
void require_real(std::string_view operation, const Tensor& x);

}  // namespace hiptool::ops
