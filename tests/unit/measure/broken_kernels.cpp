// SPDX-License-Identifier: MIT
// Kernels that look right at a glance: the checks of the bench must find each of them out.
#include <hip/hip_runtime.h>

#include "broken_kernels.hpp"
#include "hiptool_cpu_narrow.h"

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
extern "C" __global__ void broken_dot(const uint4* a, const uint4* b, uint64_t count, float* out) {
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (uint64_t i = blockIdx.x; i < count; i += gridDim.x) {
    sum += __uint_as_float(a[i].x) * __uint_as_float(b[i].x) +
           __uint_as_float(a[i].y) * __uint_as_float(b[i].y) +
           __uint_as_float(a[i].z) * __uint_as_float(b[i].z);
  }
  out[blockIdx.x] = sum;
}

// Never finds anything.
extern "C" __global__ void broken_memtest_check(uint4*, uint64_t, uint32_t, uint32_t, uint32_t,
                                                uint32_t, uint64_t*) {}

// Reports a wrong word as the one before it.
extern "C" __global__ void broken_memtest_place(uint4* data, uint64_t count, uint32_t,
                                                uint32_t pass, uint32_t flip, uint32_t,
                                                uint64_t* result) {
  const auto* const words = reinterpret_cast<const uint32_t*>(data);
  for (uint64_t i = threadIdx.x; blockIdx.x == 0 && i < 4 * count; i += blockDim.x) {
    const uint32_t expected = (static_cast<uint32_t>(i) + pass) ^ flip;
    if (words[i] == expected) continue;
    atomicAdd(&result[0], 1);
    atomicMin(&result[1], i - 1);
    atomicOr(&result[2], words[i] ^ expected);
  }
}

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

// The test of inversions over memory whose word 100 cannot hold bit 3 once it has been inverted.
extern "C" __global__ void broken_memtest_invert(uint4* data, uint64_t count, uint32_t,
                                                 uint32_t pass, uint32_t flip, uint32_t invert,
                                                 uint64_t* result) {
  auto* const words = reinterpret_cast<uint32_t*>(data);
  const uint32_t expected = ((pass * 0x35U & 0xFFU) * 0x01010101U) ^ flip;
  for (uint64_t i = threadIdx.x; blockIdx.x == 0 && i < 4 * count; i += blockDim.x) {
    if (words[i] != expected) {
      atomicAdd(&result[0], 1);
      atomicMin(&result[1], i);
      atomicOr(&result[2], words[i] ^ expected);
    }
    if (invert != 0) words[i] = i == 100 ? ~expected & ~0x8U : ~expected;
  }
}

// Rounds the product, and then the sum.
extern "C" __global__ void broken_fma_bf16(uint64_t* out, uint64_t rounds, uint64_t a, uint64_t b) {
  using Pair = hiptool_cpu::Narrow<8, 8>;
  uint64_t joined = 0;
  for (unsigned k = 0; k < 8; ++k) {
    const unsigned first = threadIdx.x % 32 + k + 1;
    uint32_t x = Pair::round(first) | Pair::round(first + 1) << 16;
    for (uint64_t i = 0; i < 32 * rounds; ++i) {
      const unsigned half = 32 * (i % 2);
      x = Pair::multiply_add_pair(x, static_cast<uint32_t>(a >> half), 0x80008000U);
      x = Pair::multiply_add_pair(x, 0x3F803F80U, static_cast<uint32_t>(b >> half));
    }
    joined ^= static_cast<uint64_t>(x) << k;
  }
  out[static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x] = joined;
}

// One value of row 5 is 1 too large.
extern "C" __global__ void broken_gemm_bf16(const uint16_t* a, const uint16_t* b, uint4* c,
                                            uint64_t n) {
  using Number = hiptool_cpu::Narrow<8, 8>;
  auto* const out = reinterpret_cast<float*>(c);
  for (uint64_t i = threadIdx.x; blockIdx.x == 0 && i < n * n; i += blockDim.x) {
    double sum = i == 5 * n + 7 ? 1 : 0;
    for (uint64_t k = 0; k < n; ++k) {
      sum += Number::widen(a[i / n * n + k]) * Number::widen(b[k * n + i % n]);
    }
    out[i] = static_cast<float>(sum);
  }
}

HIPTOOL_EXPORT(broken_triad_short);
HIPTOOL_EXPORT(broken_copy_bit);
HIPTOOL_EXPORT(broken_memset);
HIPTOOL_EXPORT(broken_dot);
HIPTOOL_EXPORT(broken_memtest_check);
HIPTOOL_EXPORT(broken_memtest_place);
HIPTOOL_EXPORT(broken_memtest_write);
HIPTOOL_EXPORT(broken_memtest_invert);
HIPTOOL_EXPORT(broken_fma_bf16);
HIPTOOL_EXPORT(broken_gemm_bf16);

void keep_broken_kernels() {}
