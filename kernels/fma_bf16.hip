// SPDX-License-Identifier: MIT
// Multiply-adds like fma.hip, of pairs of bfloat16, by the instruction itself and never by an
// emulation. The host launches it only on devices that have the instruction.
#include "hiptool_device.h"
#if !defined(__CUDA__) && !defined(__CUDACC__) && !defined(__HIP__)
#include "hiptool_cpu_narrow.h"
#endif

using namespace hiptool_device;

namespace {

constexpr unsigned chains = 8;
// Steps of each chain per round. An SM issues at most one multiply-add per lane and clock, so the
// five instructions of the loop itself cost 2 % of the time.
constexpr unsigned unrolled = 32;

inline __device__ uint32_t step(uint32_t x, uint32_t a, uint32_t b) {
#if defined(__CUDA__) || defined(__CUDACC__)
  uint32_t next;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(next) : "r"(x), "r"(a), "r"(b));
  return next;
#elif defined(__HIP__)
#error "no AMD GPU up to gfx1201 has multiply-adds of bfloat16"
#else
  return hiptool_cpu::Narrow<8, 8>::multiply_add_pair(x, a, b);
#endif
}

// A whole number up to 64.
inline __device__ uint32_t number(unsigned value) {
  return __float_as_uint(static_cast<float>(value)) >> 16;
}

}  // namespace

// Chain k of a thread begins with (thread % 32) + k + 1 in its low half, and one more in the high
// one. out[thread] = the bits of its chains, each shifted by its number and xored; after 32
// `rounds` steps x = x a + b. Steps 0, 2, ... use the low pairs of a and b, the others the high
// ones.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_fma_bf16(uint64_t* out, uint64_t rounds, uint64_t a, uint64_t b) {
  const uint32_t even_a = static_cast<uint32_t>(a);
  const uint32_t even_b = static_cast<uint32_t>(b);
  const uint32_t odd_a = static_cast<uint32_t>(a >> 32);
  const uint32_t odd_b = static_cast<uint32_t>(b >> 32);
  uint32_t x[chains];
#pragma unroll
  for (unsigned k = 0; k < chains; ++k) {
    const unsigned first = threadIdx.x % 32 + k + 1;
    x[k] = number(first) | number(first + 1) << 16;
  }
#pragma unroll 1
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned n = 0; n < unrolled; ++n) {
#pragma unroll
      for (unsigned k = 0; k < chains; ++k) {
        x[k] = step(x[k], n % 2 == 0 ? even_a : odd_a, n % 2 == 0 ? even_b : odd_b);
      }
    }
  }
  uint64_t joined = 0;
#pragma unroll
  for (unsigned k = 0; k < chains; ++k) joined ^= static_cast<uint64_t>(x[k]) << k;
  out[first_unit()] = joined;
}

HIPTOOL_EXPORT(hiptool_fma_bf16);
