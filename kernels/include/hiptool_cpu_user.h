// SPDX-License-Identifier: MIT
/// What kernel sources of the user need on the processor in addition to what hiptool's own kernels
/// need: the common types, mathematics, atomics and warp functions of CUDA and HIP. Precedes each
/// such source. Names are the vendors' own.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "hiptool_cpu_kernel.h"

#define __constant__
#define __managed__
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#ifndef __noinline__
#define __noinline__ __attribute__((noinline))
#endif

// The C library has functions of these names for itself, which cannot be called.
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __powf powf
#define __sincosf sincosf

namespace hiptool_cpu {

/// Dynamic shared memory that a source declares outside of functions.
template <class Element>
struct DynamicShared {
  operator Element*() const { return static_cast<Element*>(dynamic_shared()); }
  template <class Other>
  explicit operator Other*() const {
    return static_cast<Other*>(dynamic_shared());
  }
};

/// Bits of all lanes of the warp that are at the same line; 0 of those that are not.
inline std::uint64_t ballot(bool own, int line) {
  const unsigned self = lane();
  std::uint64_t votes = 0;
  for (unsigned other = 0; other < static_cast<unsigned>(warpSize); ++other) {
    const std::uint64_t vote = std::uint64_t{self} << 1 | (own ? 1u : 0u);
    const std::uint64_t taken = exchange(vote, other, line);
    if (taken >> 1 == other && (taken & 1) != 0) votes |= std::uint64_t{1} << other;
  }
  return votes;
}

inline unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }

inline unsigned thread_rank() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

// A block runs wholly on one system thread.
static __thread int block_votes;

/// Threads of the block that vote; all of them come here.
inline int count_votes(bool own, int line) {
  wait_at_barrier(line);  // all have read the last result
  if (thread_rank() == 0) block_votes = 0;
  wait_at_barrier(line);
  block_votes += own ? 1 : 0;
  wait_at_barrier(line);
  return block_votes;
}

/// exchange_value() for values of any size.
template <class Value>
Value exchange_any(Value value, unsigned source_lane, int line) {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::array<std::uint64_t, (sizeof(Value) + 7) / 8> words{};
  std::memcpy(words.data(), &value, sizeof(value));
  for (std::uint64_t& word : words) word = exchange(word, source_lane, line);
  std::memcpy(&value, words.data(), sizeof(value));
  return value;
}

}  // namespace hiptool_cpu

struct int2 {
  int x, y;
};
struct int3 {
  int x, y, z;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(8) float2 {
  float x, y;
};
struct float3 {
  float x, y, z;
};
struct alignas(16) double2 {
  double x, y;
};
struct double3 {
  double x, y, z;
};
struct alignas(2) char2 {
  signed char x, y;
};
struct alignas(4) char4 {
  signed char x, y, z, w;
};
struct alignas(2) uchar2 {
  unsigned char x, y;
};
struct alignas(4) uchar4 {
  unsigned char x, y, z, w;
};
struct alignas(4) short2 {
  short x, y;
};
struct alignas(8) ushort4 {
  unsigned short x, y, z, w;
};
struct alignas(16) longlong2 {
  long long x, y;
};
struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};

inline int2 make_int2(int x, int y) { return {x, y}; }
inline int3 make_int3(int x, int y, int z) { return {x, y, z}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z, unsigned char w) {
  return {x, y, z, w};
}

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  dim3(hiptool_cpu::Index index) : x(index.x), y(index.y), z(index.z) {}
};

template <class A, class B>
std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>> min(
    A a, B b) {
  using Both = std::common_type_t<A, B>;
  return static_cast<Both>(b) < static_cast<Both>(a) ? static_cast<Both>(b) : static_cast<Both>(a);
}

template <class A, class B>
std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>> max(
    A a, B b) {
  using Both = std::common_type_t<A, B>;
  return static_cast<Both>(a) < static_cast<Both>(b) ? static_cast<Both>(b) : static_cast<Both>(a);
}

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(double{x})); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
inline float __int_as_float(int bits) { return __uint_as_float(static_cast<unsigned>(bits)); }
inline int __float_as_int(float x) { return static_cast<int>(__float_as_uint(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(lrintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __mul24(int x, int y) { return x * y; }
inline int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}

template <class Value>
Value __ldg(const Value* place) {
  return *place;
}

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

template <class Value>
Value atomicSub(Value* place, typename hiptool_cpu::Same<Value>::Type value) {
  return hiptool_cpu::atomic_change(place, [value](Value old) { return old - value; });
}

template <class Value>
Value atomicAnd(Value* place, typename hiptool_cpu::Same<Value>::Type value) {
  return __atomic_fetch_and(place, value, __ATOMIC_RELAXED);
}

template <class Value>
Value atomicXor(Value* place, typename hiptool_cpu::Same<Value>::Type value) {
  return __atomic_fetch_xor(place, value, __ATOMIC_RELAXED);
}

template <class Value>
Value atomicExch(Value* place, typename hiptool_cpu::Same<Value>::Type value) {
  return hiptool_cpu::atomic_change(place, [value](Value) { return value; });
}

template <class Value>
Value atomicCAS(Value* place, typename hiptool_cpu::Same<Value>::Type expected,
                typename hiptool_cpu::Same<Value>::Type value) {
  __atomic_compare_exchange(place, &expected, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}

inline unsigned atomicInc(unsigned* place, unsigned last) {
  return hiptool_cpu::atomic_change(place,
                                    [last](unsigned old) { return old >= last ? 0 : old + 1; });
}

inline unsigned atomicDec(unsigned* place, unsigned last) {
  return hiptool_cpu::atomic_change(
      place, [last](unsigned old) { return old == 0 || old > last ? last : old - 1; });
}

// The lanes that take part are those that come here: a mask that names others is not looked at.
template <class Value>
Value __shfl_sync(unsigned long long, Value value, int source_lane, int width = warpSize,
                  int line = __builtin_LINE()) {
  return __shfl(value, source_lane, width, line);
}

template <class Value>
Value __shfl_up_sync(unsigned long long, Value value, unsigned delta, int width = warpSize,
                     int line = __builtin_LINE()) {
  return __shfl_up(value, delta, width, line);
}

template <class Value>
Value __shfl_down_sync(unsigned long long, Value value, unsigned delta, int width = warpSize,
                       int line = __builtin_LINE()) {
  return __shfl_down(value, delta, width, line);
}

template <class Value>
Value __shfl_xor_sync(unsigned long long, Value value, int mask, int width = warpSize,
                      int line = __builtin_LINE()) {
  return __shfl_xor(value, mask, width, line);
}

/// All lanes of the warp that come to this line have passed it before one goes on.
inline void __syncwarp(unsigned long long = ~0ull, int line = __builtin_LINE()) {
  hiptool_cpu::exchange(0, hiptool_cpu::lane(), line);
}

inline std::uint64_t __ballot(int vote, int line = __builtin_LINE()) {
  return hiptool_cpu::ballot(vote != 0, line);
}
inline int __any(int vote, int line = __builtin_LINE()) {
  return hiptool_cpu::ballot(vote != 0, line) != 0;
}
inline int __all(int vote, int line = __builtin_LINE()) {
  return hiptool_cpu::ballot(vote == 0, line) == 0;
}
inline unsigned __ballot_sync(unsigned long long, int vote, int line = __builtin_LINE()) {
  return static_cast<unsigned>(hiptool_cpu::ballot(vote != 0, line));
}
inline int __any_sync(unsigned long long, int vote, int line = __builtin_LINE()) {
  return hiptool_cpu::ballot(vote != 0, line) != 0;
}
inline int __all_sync(unsigned long long, int vote, int line = __builtin_LINE()) {
  return hiptool_cpu::ballot(vote == 0, line) == 0;
}
inline unsigned __activemask(int line = __builtin_LINE()) {
  return static_cast<unsigned>(hiptool_cpu::ballot(true, line));
}

inline int __syncthreads_count(int vote, int line = __builtin_LINE()) {
  return hiptool_cpu::count_votes(vote != 0, line);
}
inline int __syncthreads_or(int vote, int line = __builtin_LINE()) {
  return hiptool_cpu::count_votes(vote != 0, line) != 0;
}
inline int __syncthreads_and(int vote, int line = __builtin_LINE()) {
  return hiptool_cpu::count_votes(vote == 0, line) == 0;
}
