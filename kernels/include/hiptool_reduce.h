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

// What a lane has found so far: a sum; the least and the largest key, as a NaN is outside of the
// keys of both infinities; or the least key and its first place.
template <ReduceKind kind, class Stored>
struct Found;

template <class Stored>
struct Found<ReduceKind::sum, Stored> {
  typename Reduced<Stored>::Sum sum;
};
template <class Stored>
struct Found<ReduceKind::least, Stored> {
  typename Reduced<Stored>::Key least;
  typename Reduced<Stored>::Key largest;
};
template <class Stored>
struct Found<ReduceKind::place_of_least, Stored> {
  typename Reduced<Stored>::Key key;
  uint32_t place;
};

template <class Key>
__forceinline__ __device__ Key largest_key() {
  if constexpr (sizeof(Key) == 8) return 0x7FFFFFFFFFFFFFFF;
  return 0x7FFFFFFF;
}

template <ReduceKind kind, class Stored>
__forceinline__ __device__ Found<kind, Stored> nothing() {
  using Key = typename Reduced<Stored>::Key;
  if constexpr (kind == ReduceKind::sum)
    return {0};
  else if constexpr (kind == ReduceKind::least)
    return {largest_key<Key>(), ~largest_key<Key>()};
  else
    return {largest_key<Key>(), ~0U};
}

// The key for places: the least one is taken, and NaN has the least of all.
template <class Stored>
__forceinline__ __device__ typename Reduced<Stored>::Key place_key(bool is_reversed,
                                                                   Stored stored) {
  using Traits = Reduced<Stored>;
  using Key = typename Traits::Key;
  Key key = Traits::key(stored);
  // Zeros of both signs are the same number, of which the first place counts.
  if (Traits::is_float && key == -1) key = 0;
  if (is_reversed) key = ~key;
  return Traits::is_nan(stored) ? ~largest_key<Key>() : key;
}

template <class Stored>
__forceinline__ __device__ Stored stored_of_place_key(bool is_reversed,
                                                      typename Reduced<Stored>::Key key) {
  using Traits = Reduced<Stored>;
  if (Traits::is_float && key == ~largest_key<typename Traits::Key>()) return Traits::nan();
  return Traits::of_key(is_reversed ? ~key : key);
}

// Keys of 16-bit numbers are in the upper half of an integer; the lower half means nothing. So a
// word of two numbers is the key of the second one as it is.
template <class Stored>
__forceinline__ __device__ typename Reduced<Stored>::Key extreme_key(Stored stored) {
  const auto key = Reduced<Stored>::key(stored);
  if constexpr (sizeof(Stored) == 2) return static_cast<int32_t>(static_cast<uint32_t>(key) << 16);
  return key;
}

// Both numbers of a word as `ordered` makes keys of them.
template <class Stored>
__forceinline__ __device__ uint32_t ordered_pair(uint32_t word) {
  if constexpr (!Reduced<Stored>::is_float) return word;
  return word ^ ((word >> 15 & 0x00010001U) * 0x7FFFU);
}

template <class Stored>
__forceinline__ __device__ void widen(Found<ReduceKind::least, Stored>& found,
                                      typename Reduced<Stored>::Key key) {
  found.least = key < found.least ? key : found.least;
  found.largest = key > found.largest ? key : found.largest;
}

template <class Stored>
__forceinline__ __device__ Stored extreme_of(bool is_largest,
                                             const Found<ReduceKind::least, Stored>& found) {
  using Traits = Reduced<Stored>;
  constexpr unsigned shift = sizeof(Stored) == 2 ? 16 : 0;
  const Stored least = Traits::of_key(found.least >> shift);
  const Stored largest = Traits::of_key(found.largest >> shift);
  if (Traits::is_nan(least) || Traits::is_nan(largest)) return Traits::nan();
  return is_largest ? largest : least;
}

template <class Stored>
__forceinline__ __device__ void join(Found<ReduceKind::sum, Stored>& own,
                                     const Found<ReduceKind::sum, Stored>& other) {
  own.sum = own.sum + other.sum;
}
template <class Stored>
__forceinline__ __device__ void join(Found<ReduceKind::least, Stored>& own,
                                     const Found<ReduceKind::least, Stored>& other) {
  own.least = other.least < own.least ? other.least : own.least;
  own.largest = other.largest > own.largest ? other.largest : own.largest;
}
template <class Stored>
__forceinline__ __device__ void join(Found<ReduceKind::place_of_least, Stored>& own,
                                     const Found<ReduceKind::place_of_least, Stored>& other) {
  const bool wins = other.key < own.key || (other.key == own.key && other.place < own.place);
  own.key = wins ? other.key : own.key;
  own.place = wins ? other.place : own.place;
}

}  // namespace hiptool_ops
