// SPDX-License-Identifier: MIT
// What kernel sources share: conversions of the small floating-point types, reductions in an order
// that does not depend on the device, and access to memory in units of 16 bytes.
#pragma once
#include <hip/hip_runtime.h>

// The run-time compilers lack these; the other compilers have them from hip_runtime.h. Some
// releases of hipRTC define them, as types that differ, so that only macros work with all.
#if defined(__CUDACC_RTC__)
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
#elif defined(__HIPCC_RTC__)
#define int16_t __INT16_TYPE__
#define int32_t __INT32_TYPE__
#define int64_t __INT64_TYPE__
#endif

namespace hiptool_device {

// The first element of a thread, and the stride to its next ones.
inline __device__ uint64_t first_unit() {
  return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
inline __device__ uint64_t unit_stride() { return static_cast<uint64_t>(gridDim.x) * blockDim.x; }

inline __device__ uint4 make_unit(uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  uint4 unit;
  unit.x = x;
  unit.y = y;
  unit.z = z;
  unit.w = w;
  return unit;
}

inline __device__ uint4 make_unit(const float* four) {
  return make_unit(__float_as_uint(four[0]), __float_as_uint(four[1]), __float_as_uint(four[2]),
                   __float_as_uint(four[3]));
}

inline __device__ void read_unit(uint4 unit, float* four) {
  four[0] = __uint_as_float(unit.x);
  four[1] = __uint_as_float(unit.y);
  four[2] = __uint_as_float(unit.z);
  four[3] = __uint_as_float(unit.w);
}

inline __device__ double double_of(uint32_t low, uint32_t high) {
  return __hiloint2double(static_cast<int>(high), static_cast<int>(low));
}

// Little-endian numbers at any address.
inline __device__ uint32_t read_16(const uint8_t* at) {
  return at[0] | static_cast<uint32_t>(at[1]) << 8;
}
inline __device__ uint32_t read_32(const uint8_t* at) {
  return read_16(at) | read_16(at + 2) << 16;
}
inline __device__ uint64_t read_64(const uint8_t* at) {
  return read_32(at) | static_cast<uint64_t>(read_32(at + 4)) << 32;
}

// A bijection in which every bit of the argument changes about half of the result's.
inline __device__ uint32_t mix_bits(uint32_t x) {
  x = (x ^ x >> 15) * 0x85EBCA77U;
  x = (x ^ x >> 13) * 0xC2B2AE3DU;
  return x ^ x >> 16;
}

// The memory that LaunchConfig::shared_bytes asks for, aligned to 16 bytes. A kernel source that
// uses it declares no other dynamic shared memory.
inline __device__ uint4* dynamic_shared() {
  HIP_DYNAMIC_SHARED(uint4, hiptool_dynamic_shared);
  return hiptool_dynamic_shared;
}

// ---- Conversions. Semantics as in hiptool/dtype.hpp: widening is exact and keeps the sign and the
// payload of NaN, which becomes quiet; narrowing rounds once, to nearest, ties to even, keeps
// subnormal numbers, and f8e4m3 saturates. But NaN is narrowed to one bit pattern for each type,
// because devices differ in the sign and the payload of the NaN that arithmetic makes.

inline __device__ float canonical(float value) {
  return value != value ? __uint_as_float(0x7FC00000U) : value;
}
inline __device__ double canonical(double value) {
  return value != value ? __longlong_as_double(0x7FF8000000000000) : value;
}

// The operand functions leave signalling NaN as it is: for values that arithmetic takes next, which
// makes it quiet.
inline __device__ float f16_to_operand(uint32_t bits) {
  // As bits of a binary32, where the exponent is then too small by 112. The largest exponent, that
  // of infinity and NaN, leads to 65536 and more.
  const float magnitude = __uint_as_float((bits & 0x7FFFU) << 13) * 0x1p112F;
  uint32_t result = __float_as_uint(magnitude);
  if (magnitude >= 65536.0F) result |= 0x7F800000U;
  return __uint_as_float(result | (bits & 0x8000U) << 16);
}
inline __device__ float bf16_to_operand(uint32_t bits) { return __uint_as_float(bits << 16); }

inline __device__ float f16_to_float(uint32_t bits) {
  const bool is_nan = (bits & 0x7FFFU) > 0x7C00U;
  return f16_to_operand(is_nan ? bits | 0x0200U : bits);
}
inline __device__ float bf16_to_float(uint32_t bits) {
  const bool is_nan = (bits & 0x7FFFU) > 0x7F80U;
  return bf16_to_operand(is_nan ? bits | 0x0040U : bits);
}

inline __device__ float f8e4m3_to_float(uint32_t bits) {
  const float magnitude = __uint_as_float((bits & 0x7FU) << 20) * 0x1p120F;
  const uint32_t result = (bits & 0x7FU) == 0x7FU ? 0x7FC00000U : __float_as_uint(magnitude);
  return __uint_as_float(result | (bits & 0x80U) << 24);
}

// The types that are narrowed... Numbers are enumerators, because NVRTC makes variables of
// constants in every image.
struct Single {
  using Bits = uint32_t;
  enum : int { width = 32, fraction_bits = 23, bias = 127 };
  static __device__ Bits bits_of(float value) { return __float_as_uint(value); }
  static __device__ float value_of(Bits bits) { return __uint_as_float(bits); }
};
struct Double {
  using Bits = uint64_t;
  enum : int { width = 64, fraction_bits = 52, bias = 1023 };
  static __device__ Bits bits_of(double value) {
    return static_cast<Bits>(__double_as_longlong(value));
  }
  static __device__ double value_of(Bits bits) {
    return __longlong_as_double(static_cast<long long>(bits));
  }
};

// ...and the types that they are narrowed to; `most` replaces all numbers that are too large.
struct F16 {
  enum : int { width = 16, fraction_bits = 10, bias = 15, most = 0x7C00, nan = 0x7E00 };
};
struct Bf16 {
  enum : int { width = 16, fraction_bits = 7, bias = 127, most = 0x7F80, nan = 0x7FC0 };
};
struct F8E4M3 {
  enum : int { width = 8, fraction_bits = 3, bias = 7, most = 0x7E, nan = 0x7F };
};

template <class Narrow, class Wide>
inline __device__ uint32_t narrow(typename Wide::Bits bits) {
  using Bits = typename Wide::Bits;
  constexpr Bits one = 1;
  constexpr int places = Wide::fraction_bits;
  constexpr int kept = Narrow::fraction_bits;
  constexpr int dropped = places - kept;
  constexpr int wide_bias = Wide::bias;
  constexpr int narrow_bias = Narrow::bias;
  constexpr int exponents_below = wide_bias - narrow_bias;
  constexpr Bits rebias = static_cast<Bits>(exponents_below) << places;
  constexpr Bits sign_bit = one << (Wide::width - 1);
  constexpr Bits infinity = sign_bit - (one << places);
  constexpr Bits most = Narrow::most;
  // After this number Wide has only multiples of Narrow's smallest one.
  constexpr Bits adder = static_cast<Bits>(exponents_below + 1 + dropped) << places;

  const Bits magnitude = bits & ~sign_bit;
  if (magnitude > infinity) return Narrow::nan;
  Bits number = 0;
  if (exponents_below == 0 || magnitude >= rebias + (one << places)) {
    const Bits is_odd = magnitude >> dropped & 1U;
    number = (magnitude - rebias + ((one << (dropped - 1)) - 1) + is_odd) >> dropped;
    if (number > most) number = most;
  } else {
    // Subnormal there: the addition itself rounds to a multiple of the smallest number.
    number = Wide::bits_of(Wide::value_of(magnitude) + Wide::value_of(adder)) - adder;
  }
  const Bits sign = bits >> (Wide::width - 1) << (Narrow::width - 1);
  return static_cast<uint32_t>(number | sign);
}

inline __device__ uint16_t to_f16(float value) {
  return static_cast<uint16_t>(narrow<F16, Single>(Single::bits_of(value)));
}
inline __device__ uint16_t to_f16(double value) {
  return static_cast<uint16_t>(narrow<F16, Double>(Double::bits_of(value)));
}
// What narrow() does, in fewer steps: the exponents are the same, and the largest numbers round up
// to infinity.
inline __device__ uint16_t to_bf16(float value) {
  const uint32_t bits = __float_as_uint(value);
  const uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  return static_cast<uint16_t>(value != value ? static_cast<uint32_t>(Bf16::nan) : rounded);
}
inline __device__ uint16_t to_bf16(double value) {
  return static_cast<uint16_t>(narrow<Bf16, Double>(Double::bits_of(value)));
}
inline __device__ uint8_t to_f8e4m3(float value) {
  return static_cast<uint8_t>(narrow<F8E4M3, Single>(Single::bits_of(value)));
}
inline __device__ uint8_t to_f8e4m3(double value) {
  return static_cast<uint8_t>(narrow<F8E4M3, Double>(Double::bits_of(value)));
}
// The same by the device's own instructions, for values that arithmetic takes next or has made:
// they round the same way, but differ in the patterns of NaN that they read, and number_to_f16 in
// those that it writes.
#if defined(__CUDA_ARCH__)
inline __device__ float f16_to_value(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
inline __device__ uint16_t number_to_f16(float value) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#elif defined(__AMDGCN__)
inline __device__ float f16_to_value(uint16_t bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}
inline __device__ uint16_t number_to_f16(float value) {
  // Else clang makes a product and its conversion one instruction, which adds 0 and so loses -0.
  asm("" : "+v"(value));
  return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
}
#else
inline __device__ float f16_to_value(uint16_t bits) { return f16_to_operand(bits); }
inline __device__ uint16_t number_to_f16(float value) { return to_f16(value); }
#endif
// Two of them as one word, by one instruction from compute capability 8.0 on.
inline __device__ uint32_t numbers_to_f16(float low, float high) {
#if defined(__CUDA_ARCH__)
  uint32_t pair;
  asm("{\n"
      ".reg .b16 low, high;\n"
      "cvt.rn.f16.f32 low, %1;\n"
      "cvt.rn.f16.f32 high, %2;\n"
      "mov.b32 %0, {low, high};\n"
      "}"
      : "=r"(pair)
      : "f"(low), "f"(high));
  return pair;
#else
  return number_to_f16(low) | static_cast<uint32_t>(number_to_f16(high)) << 16;
#endif
}
inline __device__ uint16_t value_to_f16(float value) {
  return value != value ? static_cast<uint16_t>(F16::nan) : number_to_f16(value);
}

inline __device__ float to_f32(double value) { return canonical(static_cast<float>(value)); }

// ---- Reductions. `Join::join(a, b)` must not depend on the order of a and b (except for two NaN).
// Values are numbers of 32 or 64 bits, or structures of 32-bit words without constructors.

struct Sum {
  template <class Value>
  static __device__ Value join(Value a, Value b) {
    return a + b;
  }
};
struct Or {
  template <class Value>
  static __device__ Value join(Value a, Value b) {
    return a | b;
  }
};
struct Xor {
  template <class Value>
  static __device__ Value join(Value a, Value b) {
    return a ^ b;
  }
};

// Bytes of values whose alignment the compiler knows by their types.
template <unsigned bytes, class To, class From>
inline __device__ void copy_bytes(To* to, const From* from) {
#if defined(__CUDACC_RTC__)
  memcpy(to, from, bytes);  // this compiler has no built-in function for it
#else
  __builtin_memcpy(to, from, bytes);
#endif
}

// The value of the thread whose number differs by `mask`, below 32. All threads of the 32 take
// part.
template <class Value>
inline __device__ Value exchange(Value value, int mask) {
  if constexpr (__is_class(Value)) {
    static_assert(sizeof(Value) % sizeof(uint32_t) == 0, "whole words only");
    // No union: a compiler may take its words, reached by a reference, for others than the members
    // of the structure, and leave the exchange out.
    struct Words {
      uint32_t at[sizeof(Value) / sizeof(uint32_t)];
    };
    Words words = __builtin_bit_cast(Words, value);
#pragma unroll
    for (uint32_t& word : words.at) word = __shfl_xor(word, mask, 32);
    return __builtin_bit_cast(Value, words);
  } else {
    return __shfl_xor(value, mask, 32);
  }
}

// The values of 32 neighbouring threads, the first of them a multiple of 32, joined by one tree
// whatever the size of a warp is; with `step` those of each `step`th thread. Every thread gets the
// result.
template <class Join, int step = 1, class Value>
inline __device__ Value join_32(Value value) {
#if defined(HIPTOOL_JOINS_LANES)
  hiptool_cpu::join_across<Join, 16, step, 1>(&value);
#else
#pragma unroll
  for (int distance = 16; distance >= step; distance /= 2) {
    value = Join::join(value, exchange(value, distance));
  }
#endif
  return value;
}

// Adds to each of the sums that of the thread whose number differs by `from`, then by half of it,
// and so on until `to`. The distances are below 32.
template <int from, int to, unsigned count>
__forceinline__ __device__ void add_across(float (&sums)[count]) {
#if defined(HIPTOOL_JOINS_LANES)
  hiptool_cpu::join_across<Sum, from, to, count>(sums);
#else
#pragma unroll
  for (int distance = from; distance >= to; distance /= 2) {
#pragma unroll
    for (float& sum : sums) sum = sum + __shfl_xor(sum, distance);
  }
#endif
}

// The values of all threads of a block: groups of 32 by join_32, then these in their order. Every
// thread gets the result. `groups` is shared memory for a value of each group, free again
// afterwards. The block has whole groups, in one dimension; `threads` is their number where the
// compiler can know it.
template <class Join, unsigned threads = 0, class Value>
inline __device__ Value join_block(Value value, Value* groups) {
  value = join_32<Join>(value);
  if (threadIdx.x % 32 == 0) groups[threadIdx.x / 32] = value;
  __syncthreads();
  value = groups[0];
  const unsigned count = (threads != 0 ? threads : blockDim.x) / 32;
  for (unsigned i = 1; i < count; ++i) value = Join::join(value, groups[i]);
  __syncthreads();
  return value;
}

}  // namespace hiptool_device
