// SPDX-License-Identifier: MIT
/// Module and function handles, and what a function says of itself.
#pragma once
#include <cstddef>

#include "hip/api.hpp"
#include "hip/cpu/kernel_table.hpp"

namespace hiptool::hip::cpu {

/// Null when the handle is unknown, also when its module was unloaded.
const CpuKernel* find_function(hipFunction_t function);

std::size_t live_module_count();

void add_module_calls(Api& api);

}  // namespace hiptool::hip::cpu
