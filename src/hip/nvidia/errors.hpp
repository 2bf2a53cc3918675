// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "hip/nvidia/cuda.hpp"

namespace hiptool::hip::nvidia {

/// The same number, except where HIP means something else by it (hip headers 6.3 to 10.2: 911
/// channel descriptor, 912 texture, 916 stream detached).
constexpr hipError_t translate(CUresult result) noexcept {
  switch (result) {
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_KEY_ROTATION: return hipErrorUnknown;
    default: return static_cast<hipError_t>(result);
  }
}

/// HIP's name where HIP has the number, else CUDA's, else "hipErrorUnknown".
const char* name_of(hipError_t error) noexcept;
const char* text_of(hipError_t error) noexcept;

/// "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)".
std::string describe(CUresult result);

}  // namespace hiptool::hip::nvidia
