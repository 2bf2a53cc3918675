// SPDX-License-Identifier: MIT
/// Pinned and registered host memory. Nothing is locked: the calls decide whether copies may return
/// before they are done.
#pragma once
#include "hip/api.hpp"

namespace hiptool::hip::cpu {

void add_host_memory_calls(Api& api);

}  // namespace hiptool::hip::cpu
