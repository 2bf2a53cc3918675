// SPDX-License-Identifier: MIT
#pragma once

namespace hiptool::user_kernel {

/// Numbers that kernels take and buffers consist of.
enum class ElementType { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };

}  // namespace hiptool::user_kernel
