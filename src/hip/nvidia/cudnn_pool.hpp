// SPDX-License-Identifier: MIT
/// Poolings by cuDNN, which has them in its older interface with all types.
#pragma once
#include "hip/dnn.hpp"
#include "hip/nvidia/cudnn.hpp"

namespace hiptool::hip::nvidia {

/// Queues a checked call on the handle's stream. Returns cuDNN's status.
int pool_by_cudnn(const CudnnCalls& calls, void* handle, const PoolCall& call);

}  // namespace hiptool::hip::nvidia
