// SPDX-License-Identifier: MIT
/// Copies and fills.
#pragma once
#include "hip/api.hpp"

namespace hiptool::hip::cpu {

void add_copy_calls(Api& api);

}  // namespace hiptool::hip::cpu
