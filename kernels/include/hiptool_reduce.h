// SPDX-License-Identifier: MIT
// What reductions keep of the elements they have seen; a part of ops/reduce.hip.
#pragma once
#include "hiptool_elements.h"
#include "hiptool_rows.h"

namespace hiptool_ops {

// Elements as integers in the order of their values: NaN apart, -0 before +0.
template <class Key, unsigned width>
__forceinline__ __device__ Key ordered(Key bits) {
  constexpr Key magnitude = static_cast<Key>(~(~static_cast<uint64_t>(0) << (width - 1)));
  return bits ^ (bits < 0 ? magnitude : 0);
}

template <class Stored>
struct Whole {
  using Sum = uint32_t;
  using Key = int32_t;
  enum : bool { is_float = false };
  static __device__ Sum operand(Stored stored) { return static_cast<Sum>(stored); }
  static __device__ Key key(Stored stored) { return stored; }
  static __device__ Stored of_key(Key key) { return static_cast<Stored>(key); }
  static __device__ bool is_nan(Stored) { return false; }
  static __device__ Stored nan() { return 0; }
};

template <class Stored_, class Bits, unsigned infinity, unsigned quiet>
struct Small {
  using Sum = float;
  using Key = int32_t;
  enum : bool { is_float = true };
  static __device__ Key key(Stored_ stored) {
    return ordered<Key, sizeof(Bits) * 8>(static_cast<Bits>(stored.bits));
  }
  static __device__ Stored_ of_key(Key key) {
    Stored_ stored;
    stored.bits = static_cast<decltype(stored.bits)>(ordered<Key, sizeof(Bits) * 8>(key));
    return stored;
  }
  static __device__ bool is_nan(Stored_ stored) {
    return (stored.bits & ((1U << (sizeof(Bits) * 8 - 1)) - 1)) > infinity;
  }
  static __device__ Stored_ nan() { return {quiet}; }
};

template <class Stored>
struct Reduced : Whole<Stored> {};
template <>
struct Reduced<uint32_t> : Whole<uint32_t> {
  static __device__ Key key(uint32_t stored) { return static_cast<Key>(stored ^ 0x80000000U); }
  static __device__ uint32_t of_key(Key key) { return static_cast<uint32_t>(key) ^ 0x80000000U; }
};
template <>
struct Reduced<int64_t> : Whole<int64_t> {
  using Sum = uint64_t;
  using Key = int64_t;
  static __device__ Sum operand(int64_t stored) { return static_cast<Sum>(stored); }
  static __device__ Key key(int64_t stored) { return stored; }
  static __device__ int64_t of_key(Key key) { return key; }
};
template <>
struct Reduced<F16> : Small<F16, int16_t, 0x7C00, 0x7E00> {
  static __device__ float operand(F16 stored) { return hiptool_device::f16_to_value(stored.bits); }
};
template <>
struct Reduced<Bf16> : Small<Bf16, int16_t, 0x7F80, 0x7FC0> {
  static __device__ float operand(Bf16 stored) {
    return hiptool_device::bf16_to_operand(stored.bits);
  }
};
// A scalar: of structures of one byte clang 19 keeps arrays in memory.
enum class F8Bits : uint8_t {};
template <>
struct Reduced<F8Bits> {
  using Sum = float;
  using Key = int32_t;
  enum : bool { is_float = true };
  static __device__ uint32_t bits_of(F8Bits stored) { return static_cast<uint8_t>(stored); }
  static __device__ float operand(F8Bits stored) {
    return hiptool_device::f8e4m3_to_float(bits_of(stored));
  }
  static __device__ Key key(F8Bits stored) {
    return ordered<Key, 8>(static_cast<int8_t>(bits_of(stored)));
  }
  static __device__ F8Bits of_key(Key key) {
    return static_cast<F8Bits>(static_cast<uint8_t>(ordered<Key, 8>(key)));
  }
  static __device__ bool is_nan(F8Bits stored) { return (bits_of(stored) & 0x7F) == 0x7F; }
  static __device__ F8Bits nan() { return static_cast<F8Bits>(0x7F); }
};
template <>
struct Reduced<float> {
  using Sum = float;
  using Key = int32_t;
  enum : bool { is_float = true };
  static __device__ float operand(float stored) { return stored; }
  static __device__ Key key(float stored) {
    return ordered<Key, 32>(static_cast<Key>(__float_as_uint(stored)));
  }
  static __device__ float of_key(Key key) {
    return __uint_as_float(static_cast<uint32_t>(ordered<Key, 32>(key)));
  }
  static __device__ bool is_nan(float stored) { return stored != stored; }
  static __device__ float nan() { return __uint_as_float(0x7FC00000U); }
};
template <>
struct Reduced<double> {
  using Sum = double;
  using Key = int64_t;
  enum : bool { is_float = true };
  static __device__ double operand(double stored) { return stored; }
  static __device__ Key key(double stored) {
    return ordered<Key, 64>(static_cast<Key>(__double_as_longlong(stored)));
  }
  static __device__ double of_key(Key key) {
    return __longlong_as_double(static_cast<long long>(ordered<Key, 64>(key)));
  }
  static __device__ bool is_nan(double stored) { return stored != stored; }
  static __device__ double nan() { return __longlong_as_double(0x7FF8000000000000); }
};

// What a lane has found so far. Keys are such that the least one wins; that of NaN is below all.
template <class Stored>
struct Found {
  using Traits = Reduced<Stored>;
  using Sum = typename Traits::Sum;
  using Key = typename Traits::Key;
  Sum sum;
  Key key;
  uint32_t place;
};

template <class Key>
__forceinline__ __device__ Key key_of_nothing() {
  if constexpr (sizeof(Key) == 8) return 0x7FFFFFFFFFFFFFFF;
  return 0x7FFFFFFF;
}

template <class Stored>
__forceinline__ __device__ Found<Stored> nothing() {
  return {0, key_of_nothing<typename Found<Stored>::Key>(), ~0U};
}

// Of the arguments only the few that the innermost functions need.
struct Settings {
  ReduceKind kind;
  uint32_t is_reversed;
};

template <class Stored>
__forceinline__ __device__ typename Found<Stored>::Key key_of(Settings all, Stored stored) {
  using Key = typename Found<Stored>::Key;
  using Traits = Reduced<Stored>;
  Key key = Traits::key(stored);
  // Zeros of both signs are the same number, of which the first place counts.
  if (Traits::is_float && all.kind == ReduceKind::place_of_least && key == -1) key = 0;
  if (all.is_reversed) key = ~key;
  return Traits::is_nan(stored) ? ~key_of_nothing<Key>() : key;
}

template <class Stored>
__forceinline__ __device__ Stored stored_of(Settings all, typename Found<Stored>::Key key) {
  using Traits = Reduced<Stored>;
  using Key = typename Found<Stored>::Key;
  if (Traits::is_float && key == ~key_of_nothing<Key>()) return Traits::nan();
  return Traits::of_key(all.is_reversed ? ~key : key);
}

template <bool is_sum, class Stored>
__forceinline__ __device__ void join(Found<Stored>& own, const Found<Stored>& other) {
  if constexpr (is_sum) {
    own.sum = own.sum + other.sum;
  } else {
    const bool wins = other.key < own.key || (other.key == own.key && other.place < own.place);
    own.key = wins ? other.key : own.key;
    own.place = wins ? other.place : own.place;
  }
}

}  // namespace hiptool_ops
