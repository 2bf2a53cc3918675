// SPDX-License-Identifier: MIT
#include <hip/hip_runtime.h>

namespace {

template <class Unit>
inline __device__ void copy_units(const Unit* from, Unit* to, uint64_t count) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) to[i] = from[i];
}

}  // namespace

// to[0 .. count) = from[0 .. count), in units of 16 bytes, at addresses that are multiples of 16.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_copy_16(const uint4* from, uint4* to, uint64_t count) {
  copy_units(from, to, count);
}

// The same for single bytes, at any address.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_copy_1(const uint8_t* from, uint8_t* to, uint64_t count) {
  copy_units(from, to, count);
}

HIPTOOL_EXPORT(hiptool_copy_16);
HIPTOOL_EXPORT(hiptool_copy_1);
