// SPDX-License-Identifier: MIT
// Elementwise operations of two tensors. One kernel for each type and layout: the operation is an
// argument, and the switch over it stands outside the loops.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"

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

// Integers wrap: they are computed without sign, where that is no overflow.
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

// NaN wins; of the two zeros the negative one is the smaller.
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

template <unsigned length, class Value>
inline __device__ void compute(BinaryOp operation, const Value* left, const Value* right,
                               Value* result) {
  switch (operation) {
#define HIPTOOL_BINARY(name, ...)                             \
  case BinaryOp::name:                                        \
    _Pragma("unroll") for (unsigned k = 0; k < length; ++k) { \
      const Value x = left[k];                                \
      const Value y = right[k];                               \
      result[k] = __VA_ARGS__;                                \
    }                                                         \
    break;
#include "hiptool/operations.def"
#undef HIPTOOL_BINARY
  }
}

template <unsigned length, class Value>
inline __device__ void compute(CompareOp operation, const Value* left, const Value* right,
                               uint8_t* result) {
  switch (operation) {
#define HIPTOOL_COMPARE(name, ...)                            \
  case CompareOp::name:                                       \
    _Pragma("unroll") for (unsigned k = 0; k < length; ++k) { \
      const Value x = left[k];                                \
      const Value y = right[k];                               \
      result[k] = __VA_ARGS__;                                \
    }                                                         \
    break;
#include "hiptool/operations.def"
#undef HIPTOOL_COMPARE
  }
}

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
inline __device__ void apply(Operation operation, const Stored* a, const Stored* b, Result* out) {
  using Value = typename Element<Stored>::Value;
  Value x[length];
  Value y[length];
  typename ResultOf<Operation, Stored>::Value z[length];
#pragma unroll
  for (unsigned k = 0; k < length; ++k) {
    x[k] = Element<Stored>::widen(a[k]);
    y[k] = Element<Stored>::widen(b[k]);
  }
  compute<length>(operation, x, y, z);
#pragma unroll
  for (unsigned k = 0; k < length; ++k) out[k] = Element<Result>::narrow(z[k]);
}

template <class Operation, class Stored, class Result>
inline __device__ void apply_packed(Operation operation, uint64_t count, const Stored* a,
                                    const Stored* b, Result* out) {
  constexpr unsigned length = Run<Stored>::length;
  each_index(count, length, [&](uint64_t i) {
    Stored x[length];
    Stored y[length];
    Result z[length];
    load_up_to<length>(a, i, count, x);
    load_up_to<length>(b, i, count, y);
    apply<length>(operation, x, y, z);
    store_up_to<length>(out, i, count, z);
  });
}

template <unsigned length, class Operation, class Stored, class Result>
inline __device__ void apply_runs(Operation operation, const Operands<3>& all, const Stored* a,
                                  const Stored* b, Result* out) {
  each_place(all, length, [&](const uint64_t(&places)[3]) {
    Stored x[length];
    Stored y[length];
    Result z[length];
    load_run<length>(all, 0, a, places[0], x);
    load_run<length>(all, 1, b, places[1], y);
    apply<length>(operation, x, y, z);
    store_run<length>(all, 2, out, places[2], z);
  });
}

template <class Operation, class Stored, class Result>
inline __device__ void apply_anywhere(Operation operation, const Operands<3>& all, const Stored* a,
                                      const Stored* b, Result* out) {
  if (all.run == 1) {
    apply_runs<1>(operation, all, a, b, out);
  } else {
    apply_runs<Run<Stored>::length>(operation, all, a, b, out);
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(family, type, Operation, Stored, Result)                                 \
  extern "C" __global__ void __launch_bounds__(256)                                             \
      hiptool_##family##_packed_##type(hiptool_ops::Operation operation, uint64_t count,        \
                                       const Stored* a, const Stored* b, Result* out) {         \
    hiptool_ops::apply_packed(operation, count, a, b, out);                                     \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(256)                                             \
      hiptool_##family##_##type(hiptool_ops::Operation operation, hiptool_ops::Operands<3> all, \
                                const Stored* a, const Stored* b, Result* out) {                \
    hiptool_ops::apply_anywhere(operation, all, a, b, out);                                     \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_##family##_packed_##type);                                             \
  HIPTOOL_EXPORT(hiptool_##family##_##type)

#define HIPTOOL_KERNELS(type, Stored)                     \
  HIPTOOL_KERNEL(binary, type, BinaryOp, Stored, Stored); \
  HIPTOOL_KERNEL(compare, type, CompareOp, Stored, uint8_t)

HIPTOOL_KERNELS(u8, uint8_t);
HIPTOOL_KERNELS(u32, uint32_t);
HIPTOOL_KERNELS(i16, int16_t);
HIPTOOL_KERNELS(i32, int32_t);
HIPTOOL_KERNELS(i64, int64_t);
HIPTOOL_KERNELS(f16, hiptool_ops::F16);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(f32, float);
HIPTOOL_KERNELS(f64, double);
HIPTOOL_KERNELS(f8e4m3, hiptool_ops::F8);
