// SPDX-License-Identifier: MIT
// Kernels that look right at a glance: the checks of the bench must find each of them out.
#include <hip/hip_runtime.h>

#include "broken_kernels.hpp"

// Leaves out the last unit.
extern "C" __global__ void broken_triad_short(const uint4* a, const uint4* b, uint4* out,
                                              uint64_t count) {
  for (uint64_t i = threadIdx.x; blockIdx.x == 0 && i + 1 < count; i += blockDim.x) {
    uint4 unit;
    unit.x = __float_as_uint(__uint_as_float(a[i].x) + 3 * __uint_as_float(b[i].x));
    unit.y = __float_as_uint(__uint_as_float(a[i].y) + 3 * __uint_as_float(b[i].y));
    unit.z = __float_as_uint(__uint_as_float(a[i].z) + 3 * __uint_as_float(b[i].z));
    unit.w = __float_as_uint(__uint_as_float(a[i].w) + 3 * __uint_as_float(b[i].w));
    out[i] = unit;
  }
}

// One bit of one word is wrong.
extern "C" __global__ void broken_copy_bit(const uint4* a, const uint4*, uint4* out,
                                           uint64_t count) {
  for (uint64_t i = threadIdx.x; blockIdx.x == 0 && i < count; i += blockDim.x) {
    out[i] = a[i];
    if (i == 1000) out[i].z ^= 0x10;
  }
}

// Does nothing.
extern "C" __global__ void broken_memset(uint4*, uint64_t, uint32_t) {}

// Forgets the last value of each block.
extern "C" __global__ void broken_sum(const uint4* a, const uint4*, uint64_t count, float* out) {
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (uint64_t i = blockIdx.x; i < count; i += gridDim.x) {
    sum += __uint_as_float(a[i].x) + __uint_as_float(a[i].y) + __uint_as_float(a[i].z);
  }
  out[blockIdx.x] = sum;
}

// Never finds anything.
extern "C" __global__ void broken_memtest_check(uint4*, uint64_t, uint32_t, uint32_t, uint32_t,
                                                uint32_t, uint64_t*) {}

// Word 4 k + 1 of unit 777 is stuck: one bit stays set.
extern "C" __global__ void broken_memtest_write(uint4* out, uint64_t count, uint32_t, uint32_t pass,
                                                uint32_t flip) {
  for (uint64_t i = threadIdx.x; blockIdx.x == 0 && i < count; i += blockDim.x) {
    uint4 unit;
    unit.x = (static_cast<uint32_t>(4 * i) + pass) ^ flip;
    unit.y = unit.x + 1;
    unit.z = unit.x + 2;
    unit.w = unit.x + 3;
    if (i == 777) unit.y |= 0x80000000U;
    out[i] = unit;
  }
}

HIPTOOL_EXPORT(broken_triad_short);
HIPTOOL_EXPORT(broken_copy_bit);
HIPTOOL_EXPORT(broken_memset);
HIPTOOL_EXPORT(broken_sum);
HIPTOOL_EXPORT(broken_memtest_check);
HIPTOOL_EXPORT(broken_memtest_write);

void keep_broken_kernels() {}
