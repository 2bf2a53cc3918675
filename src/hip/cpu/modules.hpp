// SPDX-License-Identifier: MIT
/// Module and function handles.
#pragma once
#include "hip/abi.hpp"
#include "hip/cpu/kernel_table.hpp"

namespace hiptool::hip::cpu {

/// Null when the handle is unknown, also when its module was unloaded.
const CpuKernel* find_function(hipFunction_t function);

}  // namespace hiptool::hip::cpu
