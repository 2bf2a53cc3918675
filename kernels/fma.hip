// SPDX-License-Identifier: MIT
// Multiply-adds in eight independent chains per thread.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

constexpr unsigned chains = 8;
// Steps of each chain per round. An SM issues at most one multiply-add per lane and clock, so the
// five instructions of the loop itself cost 2 % of the time.
constexpr unsigned unrolled = 32;

inline __device__ float step(float x, float a, float b) { return __fmaf_rn(x, a, b); }
inline __device__ double step(double x, double a, double b) { return __fma_rn(x, a, b); }
inline __device__ uint32_t step(uint32_t x, uint32_t a, uint32_t b) { return x * a + b; }

inline __device__ uint64_t bits_of(float value) { return __float_as_uint(value); }
inline __device__ uint64_t bits_of(uint32_t value) { return value; }
inline __device__ uint64_t bits_of(double value) {
  return static_cast<uint64_t>(__double_as_longlong(value));
}

// Chain k of a thread begins with (thread % 32) + k + 1.
template <class Number>
inline __device__ uint64_t run_chains(uint64_t rounds, Number a, Number b) {
  Number x[chains];
#pragma unroll
  for (unsigned k = 0; k < chains; ++k) x[k] = static_cast<Number>(threadIdx.x % 32 + k + 1);
#pragma unroll 1
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned n = 0; n < unrolled; ++n) {
#pragma unroll
      for (unsigned k = 0; k < chains; ++k) x[k] = step(x[k], a, b);
    }
  }
  uint64_t joined = 0;
#pragma unroll
  for (unsigned k = 0; k < chains; ++k) joined ^= bits_of(x[k]) << k;
  return joined;
}

}  // namespace

// out[thread] = the bits of its chains, each shifted by its number and xored; after 32 `rounds`
// steps x = x a + b. a and b are the bits of numbers.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_fma_f32(uint64_t* out, uint64_t rounds, uint64_t a, uint64_t b) {
  out[first_unit()] = run_chains(rounds, __uint_as_float(static_cast<uint32_t>(a)),
                                 __uint_as_float(static_cast<uint32_t>(b)));
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_fma_f64(uint64_t* out, uint64_t rounds, uint64_t a, uint64_t b) {
  out[first_unit()] = run_chains(rounds, __longlong_as_double(static_cast<long long>(a)),
                                 __longlong_as_double(static_cast<long long>(b)));
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_fma_i32(uint64_t* out, uint64_t rounds, uint64_t a, uint64_t b) {
  out[first_unit()] = run_chains(rounds, static_cast<uint32_t>(a), static_cast<uint32_t>(b));
}

HIPTOOL_EXPORT(hiptool_fma_f32);
HIPTOOL_EXPORT(hiptool_fma_f64);
HIPTOOL_EXPORT(hiptool_fma_i32);
