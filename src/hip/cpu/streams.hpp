// SPDX-License-Identifier: MIT
/// Stream handles, and work that calls the host.
#pragma once
#include <memory>

#include "hip/abi.hpp"
#include "hip/cpu/queue.hpp"

namespace hiptool::hip::cpu {

/// The queue of a handle; for the null handle the default stream of the thread's device. Null
/// when the handle is unknown.
std::shared_ptr<Queue> find_queue(hipStream_t stream);

}  // namespace hiptool::hip::cpu
