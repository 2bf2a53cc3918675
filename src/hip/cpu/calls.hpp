// SPDX-License-Identifier: MIT
/// The HIP table of the cpu platform, filled by concern, and what these files need of each other.
#pragma once
#include <memory>
#include <string>

#include "hip/api.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hip/cpu/queue.hpp"

namespace hiptool::hip::cpu {

void add_device_calls(Api& api);
void add_memory_calls(Api& api);
void add_host_memory_calls(Api& api);
void add_copy_calls(Api& api);
void add_stream_calls(Api& api);
void add_event_calls(Api& api);
void add_module_calls(Api& api);
void add_launch_calls(Api& api);
void add_graph_calls(Api& api);

/// The queue of a handle; for the null handle the default stream of the thread's device. Null
/// when the handle is unknown.
std::shared_ptr<Queue> find_queue(hipStream_t stream);

/// Null when the handle is unknown, also when its module was unloaded.
const CpuKernel* find_function(hipFunction_t function);

/// The error of the newest launch that failed in this process, empty before the first. HIP has no
/// call for it; it is for tests and debugging.
std::string last_launch_error();

}  // namespace hiptool::hip::cpu
