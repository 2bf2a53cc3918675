// SPDX-License-Identifier: MIT
/// The HIP table of the cpu platform, filled by concern.
#pragma once
#include "hip/api.hpp"

namespace hiptool::hip::cpu {

void add_device_calls(Api& api);
void add_memory_calls(Api& api);
void add_host_memory_calls(Api& api);
void add_copy_calls(Api& api);
void add_stream_calls(Api& api);
void add_event_calls(Api& api);
void add_module_calls(Api& api);
void add_launch_calls(Api& api);

}  // namespace hiptool::hip::cpu
