// SPDX-License-Identifier: MIT
#include <hip/hip_runtime.h>

// out[0 .. count) = value
extern "C" __global__ void __launch_bounds__(256)
    hiptool_fill_u32(uint32_t* out, uint64_t count, uint32_t value) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) out[i] = value;
}

HIPTOOL_EXPORT(hiptool_fill_u32);
