// SPDX-License-Identifier: MIT
/// Events: time stamps taken when a queue reaches them.
#pragma once
#include <cstddef>

#include "hip/api.hpp"

namespace hiptool::hip::cpu {

std::size_t live_event_count();

void add_event_calls(Api& api);

}  // namespace hiptool::hip::cpu
