// SPDX-License-Identifier: MIT
// Elementwise operations of two tensors, of runs in registers.
#pragma once
#include "hiptool_elements.h"

// Devices keep arguments and runs in registers only where everything is inlined. Where inlining is
// not forced, gcc makes faster code for the processor: a third of the time for packed f32.
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__)
#define HIPTOOL_INLINE __forceinline__
#else
#define HIPTOOL_INLINE inline
#endif

namespace hiptool_ops {

enum class BinaryOp : uint32_t {
#define HIPTOOL_BINARY(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_BINARY
};
enum class CompareOp : uint32_t {
#define HIPTOOL_COMPARE(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_COMPARE
};

template <class Value>
struct IsFloat {
  enum : bool { value = false };
};
template <>
struct IsFloat<float> {
  enum : bool { value = true };
};
template <>
struct IsFloat<double> {
  enum : bool { value = true };
};

template <class Value>
inline __device__ bool is_negative(Value x) {
  return x < 0;
}
inline __device__ bool has_sign(float x) { return __float_as_uint(x) >> 31 != 0; }
inline __device__ bool has_sign(double x) { return __double_as_longlong(x) < 0; }

// Integers wrap: they are computed without sign, which is not an overflow.
inline __device__ uint64_t bits_of_whole(uint64_t x) { return x; }
inline __device__ uint64_t bits_of_whole(int64_t x) { return static_cast<uint64_t>(x); }
inline __device__ uint32_t bits_of_whole(uint32_t x) { return x; }
inline __device__ uint32_t bits_of_whole(int32_t x) { return static_cast<uint32_t>(x); }
inline __device__ uint32_t bits_of_whole(int16_t x) { return static_cast<uint32_t>(x); }
inline __device__ uint32_t bits_of_whole(uint8_t x) { return x; }

template <class Value>
inline __device__ Value sum(Value x, Value y) {
  if constexpr (IsFloat<Value>::value) {
    return x + y;
  } else {
    return static_cast<Value>(bits_of_whole(x) + bits_of_whole(y));
  }
}
template <class Value>
inline __device__ Value difference(Value x, Value y) {
  if constexpr (IsFloat<Value>::value) {
    return x - y;
  } else {
    return static_cast<Value>(bits_of_whole(x) - bits_of_whole(y));
  }
}
template <class Value>
inline __device__ Value product(Value x, Value y) {
  if constexpr (IsFloat<Value>::value) {
    return x * y;
  } else {
    return static_cast<Value>(bits_of_whole(x) * bits_of_whole(y));
  }
}

// x / 0 is all ones without a sign and 0 with one; the least number / -1 is itself.
template <class Value>
inline __device__ Value quotient(Value x, Value y) {
  if constexpr (IsFloat<Value>::value) {
    return x / y;
  } else {
    constexpr Value minus_one = static_cast<Value>(-1);
    constexpr bool has_signs = minus_one < 0;
    if (y == 0) return has_signs ? Value(0) : minus_one;
    if (has_signs && y == minus_one) return static_cast<Value>(0 - bits_of_whole(x));
    return static_cast<Value>(x / y);
  }
}

// NaN if either is NaN; the negative zero is smaller than the positive one.
template <class Value>
inline __device__ Value smaller(Value x, Value y) {
  if constexpr (IsFloat<Value>::value) {
    if (x != x) return x;
    if (y != y) return y;
    if (x == y) return has_sign(x) ? x : y;
  }
  return y < x ? y : x;
}
template <class Value>
inline __device__ Value larger(Value x, Value y) {
  if constexpr (IsFloat<Value>::value) {
    if (x != x) return x;
    if (y != y) return y;
    if (x == y) return has_sign(x) ? y : x;
  }
  return x < y ? y : x;
}

// Where the switch over the operation finds elements and leaves results: values in registers...
template <class Value>
struct Values {
  Value* at;
  __device__ Value get(unsigned k) const { return at[k]; }
  __device__ void set(unsigned k, Value value) const { at[k] = value; }
};

// ...or elements of one or two bytes as they are in memory. They are widened one by one, because
// registers for all of them together would halve the threads that a multiprocessor holds.
template <class Stored>
struct Words {
  uint32_t* at;  // zeroed before results are set
  enum : unsigned { in_word = 4 / sizeof(Stored), bits = 8 * sizeof(Stored) };

  __device__ typename Element<Stored>::Value get(unsigned k) const {
    const uint32_t word = at[k / in_word] >> (k % in_word * bits);
    Stored stored;
    hiptool_device::copy_bytes<sizeof stored>(&stored, &word);
    return Element<Stored>::widen(stored);
  }
  __device__ void set(unsigned k, typename Element<Stored>::Value value) const {
    const Stored stored = Element<Stored>::narrow(value);
    uint32_t word = 0;
    hiptool_device::copy_bytes<sizeof stored>(&word, &stored);
    at[k / in_word] |= word << (k % in_word * bits);
  }
};

template <unsigned length, class Value, class Inputs, class Results>
HIPTOOL_INLINE __device__ void compute(BinaryOp operation, Inputs left, Inputs right,
                                       Results result) {
  switch (operation) {
#define HIPTOOL_BINARY(name, ...)                             \
  case BinaryOp::name:                                        \
    _Pragma("unroll") for (unsigned k = 0; k < length; ++k) { \
      const Value x = left.get(k);                            \
      const Value y = right.get(k);                           \
      result.set(k, __VA_ARGS__);                             \
    }                                                         \
    break;
#include "hiptool/operations.def"
#undef HIPTOOL_BINARY
  }
}

template <unsigned length, class Value, class Inputs, class Results>
HIPTOOL_INLINE __device__ void compute(CompareOp operation, Inputs left, Inputs right,
                                       Results result) {
  switch (operation) {
#define HIPTOOL_COMPARE(name, ...)                            \
  case CompareOp::name:                                       \
    _Pragma("unroll") for (unsigned k = 0; k < length; ++k) { \
      const Value x = left.get(k);                            \
      const Value y = right.get(k);                           \
      result.set(k, __VA_ARGS__);                             \
    }                                                         \
    break;
#include "hiptool/operations.def"
#undef HIPTOOL_COMPARE
  }
}

// Operations on all elements of four words at once, with the same bits as one by one; false if
// there is none.
template <class Stored, class Operation>
inline __device__ bool compute_words(Stored, Operation, const uint32_t*, const uint32_t*,
                                     uint32_t*) {
  return false;
}
inline __device__ bool compute_words(uint8_t, BinaryOp operation, const uint32_t* x,
                                     const uint32_t* y, uint32_t* result) {
  constexpr uint32_t tops = 0x80808080U;
  if (operation == BinaryOp::add) {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      result[k] = ((x[k] & ~tops) + (y[k] & ~tops)) ^ ((x[k] ^ y[k]) & tops);
    }
    return true;
  }
  if (operation == BinaryOp::sub) {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      result[k] = ((x[k] | tops) - (y[k] & ~tops)) ^ ((x[k] ^ ~y[k]) & tops);
    }
    return true;
  }
  return false;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 530
// Bit 15 of each half says whether it is NaN.
inline __device__ uint32_t find_nan(uint32_t halves) {
  return ((halves & 0x7FFF7FFFU) + 0x03FF03FFU) & 0x80008000U;
}
// Sums, differences and products that are rounded to 24 bits and then to 11 equal those rounded
// once (S. Figueroa, When is double rounding innocuous?, SIGNUM Newsletter 30, 1995).
inline __device__ bool compute_words(F16, BinaryOp operation, const uint32_t* x, const uint32_t* y,
                                     uint32_t* result) {
#define HIPTOOL_PAIRS(instruction)                                                     \
  _Pragma("unroll") for (unsigned k = 0; k < 4; ++k) {                                 \
    asm(instruction ".rn.f16x2 %0, %1, %2;" : "=r"(result[k]) : "r"(x[k]), "r"(y[k])); \
  }
  if (operation == BinaryOp::add) {
    HIPTOOL_PAIRS("add")
  } else if (operation == BinaryOp::sub) {
    HIPTOOL_PAIRS("sub")
  } else if (operation == BinaryOp::mul) {
    HIPTOOL_PAIRS("mul")
  } else {
    return false;
  }
#undef HIPTOOL_PAIRS
  const uint32_t any =
      find_nan(result[0]) | find_nan(result[1]) | find_nan(result[2]) | find_nan(result[3]);
  if (any != 0) {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const uint32_t is_nan = find_nan(result[k]) >> 15;
      result[k] = (result[k] & ~(is_nan * 0xFFFFU)) | is_nan * hiptool_device::F16::nan;
    }
  }
  return true;
}
#endif

template <class Operation, class Stored>
struct ResultOf {
  using Value = typename Element<Stored>::Value;
  using Result = Stored;
};
template <class Stored>
struct ResultOf<CompareOp, Stored> {
  using Value = uint8_t;
  using Result = uint8_t;
};

template <unsigned length, class Operation, class Stored, class Result>
HIPTOOL_INLINE __device__ void apply(Operation operation, const Stored* a, const Stored* b,
                                     Result* out) {
  using Value = typename Element<Stored>::Value;
  using Outcome = typename ResultOf<Operation, Stored>::Value;
  Value x[length];
  Value y[length];
  Outcome z[length];
#pragma unroll
  for (unsigned k = 0; k < length; ++k) {
    x[k] = Element<Stored>::widen(a[k]);
    y[k] = Element<Stored>::widen(b[k]);
  }
  compute<length, Value>(operation, Values<Value>{x}, Values<Value>{y}, Values<Outcome>{z});
#pragma unroll
  for (unsigned k = 0; k < length; ++k) out[k] = Element<Result>::narrow(z[k]);
}

// The same of 16 bytes of each operand, as words.
template <class Operation, class Stored, class Result>
HIPTOOL_INLINE __device__ void apply_words(Operation operation, uint32_t (&a)[4], uint32_t (&b)[4],
                                           uint32_t* out) {
  if (compute_words(Stored(), operation, a, b, out)) return;
  constexpr unsigned length = 16 / sizeof(Stored);
  constexpr unsigned out_words = length * sizeof(Result) / 4;
#pragma unroll
  for (unsigned k = 0; k < out_words; ++k) out[k] = 0;
  compute<length, typename Element<Stored>::Value>(operation, Words<Stored>{a}, Words<Stored>{b},
                                                   Words<Result>{out});
}

// Types that are kept in words, and what a thread takes of every type.
template <class Stored>
struct Takes {
  enum : bool { words = false };
  enum : unsigned { length = Run<Stored>::length };
};
template <>
struct Takes<uint8_t> {
  enum : bool { words = true };
  enum : unsigned { length = 16 };
};
template <>
struct Takes<int16_t> {
  enum : bool { words = true };
  enum : unsigned { length = 8 };
};
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__)
// On the processor narrowing is faster for all elements of a run together.
template <>
struct Takes<F16> : Takes<int16_t> {};
#endif
template <>
struct Takes<Bf16> : Takes<int16_t> {};

}  // namespace hiptool_ops
