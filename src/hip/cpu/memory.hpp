// SPDX-License-Identifier: MIT
/// Device memory: allocation, pools, and what is known of a pointer.
#pragma once
#include "hip/api.hpp"

namespace hiptool::hip::cpu {

void add_memory_calls(Api& api);

}  // namespace hiptool::hip::cpu
