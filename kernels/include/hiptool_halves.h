// SPDX-License-Identifier: MIT
// Words of two elements of f16 or bf16.
#pragma once
#include "hiptool_elements.h"

namespace hiptool_ops {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define HIPTOOL_PAIRS 1  // instructions on words of two elements
#else
#define HIPTOOL_PAIRS 0
#endif

// A pair is a word of two elements. NaN leads to no certain result.
template <class Stored>
struct Halves;
template <>
struct Halves<F16> {
  using Format = hiptool_device::F16;
  enum : uint32_t { below_nan = 0x03FF };  // added, it makes of NaN alone a number with bit 15
  static __device__ uint32_t pair(float low, float high) {
    return hiptool_device::numbers_to_f16(low, high);
  }
  // Of NaN some NaN.
  static __device__ uint32_t pair_with_nan(float low, float high) { return pair(low, high); }
#if HIPTOOL_PAIRS
  static __device__ uint32_t bits_of(float number) { return hiptool_device::to_f16(number); }
  static __device__ uint32_t at_least(uint32_t x, uint32_t end) {
    asm("max.f16x2 %0, %0, %1;" : "+r"(x) : "r"(end));
    return x;
  }
  static __device__ uint32_t at_most(uint32_t x, uint32_t end) {
    asm("min.f16x2 %0, %0, %1;" : "+r"(x) : "r"(end));
    return x;
  }
  static __device__ uint32_t largest_or_nan(uint32_t x, uint32_t y) {
    asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(x) : "r"(y));
    return x;
  }
  // Of sizes, with any sign; NaN if one is.
  static __device__ uint32_t largest_size(uint32_t x, uint32_t y) {
    asm("max.NaN.xorsign.abs.f16x2 %0, %0, %1;" : "+r"(x) : "r"(y));
    return x;
  }
#endif
};
template <>
struct Halves<Bf16> {
  using Format = hiptool_device::Bf16;
  enum : uint32_t { below_nan = 0x007F };
  static __device__ uint32_t pair(float low, float high) {
#if HIPTOOL_PAIRS
    uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#else
    return rounded(low) >> 16 | (rounded(high) & 0xFFFF0000U);
#endif
  }
  // Of NaN some NaN.
  static __device__ uint32_t pair_with_nan(float low, float high) {
#if HIPTOOL_PAIRS
    return pair(low, high);
#else
    return hiptool_device::to_bf16(low) | static_cast<uint32_t>(hiptool_device::to_bf16(high))
                                              << 16;
#endif
  }
#if !HIPTOOL_PAIRS
  // The upper half is the nearest element, of two equally near ones the even one.
  static __device__ uint32_t rounded(float number) {
    const uint32_t bits = __float_as_uint(number);
    return bits + 0x7FFFU + (bits >> 16 & 1U);
  }
#else
  static __device__ uint32_t bits_of(float number) { return __float_as_uint(number) >> 16; }
  static __device__ uint32_t at_least(uint32_t x, uint32_t end) {
    asm("max.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(end));
    return x;
  }
  static __device__ uint32_t at_most(uint32_t x, uint32_t end) {
    asm("min.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(end));
    return x;
  }
  static __device__ uint32_t largest_or_nan(uint32_t x, uint32_t y) {
    asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(y));
    return x;
  }
  static __device__ uint32_t largest_size(uint32_t x, uint32_t y) {
    asm("max.NaN.xorsign.abs.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(y));
    return x;
  }
#endif
};

// Both elements of a word.
template <class Stored>
__forceinline__ __device__ void widen_word(uint32_t word, float& low, float& high) {
  const Stored lower = {static_cast<uint16_t>(word)};
  const Stored upper = {static_cast<uint16_t>(word >> 16)};
  low = Element<Stored>::widen(lower);
  high = Element<Stored>::widen(upper);
}

// The bits 15 and 31 of the result say which of the elements are NaN.
template <class Stored>
__forceinline__ __device__ uint32_t mark_nan(uint32_t word) {
  return (word & 0x7FFF7FFFU) + Halves<Stored>::below_nan * 0x00010001U;
}

// The same of NaN and infinities.
template <class Stored>
__forceinline__ __device__ uint32_t mark_unbounded(uint32_t word) {
  return (word & 0x7FFF7FFFU) + (Halves<Stored>::below_nan + 1U) * 0x00010001U;
}

// Not 0 where one of the words has NaN.
template <class Stored, unsigned count>
__forceinline__ __device__ uint32_t find_nan(const uint32_t (&words)[count]) {
#if HIPTOOL_PAIRS
  uint32_t largest = words[0];
#pragma unroll
  for (unsigned k = 1; k < count; ++k) largest = Halves<Stored>::largest_or_nan(largest, words[k]);
  const uint32_t marks = mark_nan<Stored>(largest);
#else
  uint32_t marks = 0;
#pragma unroll
  for (unsigned k = 0; k < count; ++k) marks |= mark_nan<Stored>(words[k]);
#endif
  return marks & 0x80008000U;
}

// Whether one of the words has NaN or an infinity.
template <class Stored, unsigned count>
__forceinline__ __device__ bool find_unbounded(const uint32_t (&words)[count]) {
#if HIPTOOL_PAIRS
  uint32_t largest = words[0];
#pragma unroll
  for (unsigned k = 1; k < count; ++k) largest = Halves<Stored>::largest_size(largest, words[k]);
  return (mark_unbounded<Stored>(largest) & 0x80008000U) != 0;
#else
  uint32_t marks = 0;
#pragma unroll
  for (unsigned k = 0; k < count; ++k) marks |= mark_unbounded<Stored>(words[k]);
  return (marks & 0x80008000U) != 0;
#endif
}

// Marks, at first 0, that note in a few instructions whether any of many words has NaN.
template <class Stored>
__forceinline__ __device__ uint32_t note_nan(uint32_t marks, uint32_t word) {
#if HIPTOOL_PAIRS
  return Halves<Stored>::largest_or_nan(marks, word);
#else
  return marks | mark_nan<Stored>(word);
#endif
}
template <class Stored>
__forceinline__ __device__ bool has_nan(uint32_t marks) {
#if HIPTOOL_PAIRS
  marks = mark_nan<Stored>(marks);
#endif
  return (marks & 0x80008000U) != 0;
}

}  // namespace hiptool_ops
