// SPDX-License-Identifier: MIT
// Elementwise operations of one tensor of floating-point numbers. One kernel for each type that is
// computed with, and layout: the operation and the type in memory are arguments, because the
// operations are by far the most of the code.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_math.h"

namespace hiptool_ops {

enum class UnaryOp : uint32_t {
#define HIPTOOL_UNARY(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_UNARY
};
enum class FunctionOp : uint32_t {
#define HIPTOOL_FUNCTION(name, ...) name,
#define HIPTOOL_FUNCTION_WITH(name, ...) name,
#include "hiptool/operations.def"
#undef HIPTOOL_FUNCTION
#undef HIPTOOL_FUNCTION_WITH
};

template <class Value>
inline __device__ Value sign_of(Value x) {
  return x > 0 ? Value(1) : x < 0 ? Value(-1) : Value(0);
}

// From here on there are whole numbers only.
template <class Value>
inline __device__ Value whole_from() {
  return hiptool_math::power_of_two<Value>(hiptool_math::Format<Value>::mantissa_bits);
}

// To nearest, ties to even, for 0 <= size < whole_from.
template <class Value>
inline __device__ Value nearest_whole(Value size) {
  return (size + whole_from<Value>()) - whole_from<Value>();
}

template <class Value>
inline __device__ Value round_down(Value x) {
  const Value size = hiptool_math::absolute(x);
  if (!(size < whole_from<Value>())) return x;
  const Value nearest = hiptool_math::with_sign_of(x, nearest_whole(size));
  return hiptool_math::with_sign_of(x, nearest > x ? nearest - 1 : nearest);
}

// Ties away from zero.
template <class Value>
inline __device__ Value round_away(Value x) {
  const Value size = hiptool_math::absolute(x);
  if (!(size < whole_from<Value>())) return x;
  const Value nearest = nearest_whole(size);
  const bool is_low = size - nearest == Value(0.5);
  return hiptool_math::with_sign_of(x, is_low ? nearest + 1 : nearest);
}

inline __device__ float square_root(float x) { return __fsqrt_rn(x); }
inline __device__ double square_root(double x) { return __dsqrt_rn(x); }

// Applies a function to the first `count` values, which pass through the first place and end in the
// last ones: one copy of its code, and no index at run time, for which registers would have to be
// memory.
template <unsigned length, class Value, class Function>
__forceinline__ __device__ void in_turn(unsigned count, Value* values, Function function) {
#pragma unroll 1
  for (unsigned i = 0; i < count; ++i) {
    const Value result = function(values[0]);
#pragma unroll
    for (unsigned k = 0; k + 1 < length; ++k) values[k] = values[k + 1];
    values[length - 1] = result;
  }
}

// What is done to values. `compute` may do without all but the last `count` results, where that is
// 1 because all values are the same.
template <class Value>
struct Short {
  UnaryOp operation;

  template <unsigned length>
  __forceinline__ __device__ void compute(unsigned, Value* values) const {
    switch (operation) {
#define HIPTOOL_UNARY(name, ...)                              \
  case UnaryOp::name:                                         \
    _Pragma("unroll") for (unsigned k = 0; k < length; ++k) { \
      const Value x = values[k];                              \
      values[k] = __VA_ARGS__;                                \
    }                                                         \
    break;
#include "hiptool/operations.def"
#undef HIPTOOL_UNARY
    }
  }
};

template <class Value>
struct Long {
  FunctionOp operation;
  Value parameter;

  template <unsigned length>
  __forceinline__ __device__ void compute(unsigned count, Value* values) const {
    const Value p = parameter;
    switch (operation) {
#define HIPTOOL_FUNCTION(name, ...)                                                \
  case FunctionOp::name:                                                           \
    in_turn<length>(count, values, [=](Value x) -> Value { return __VA_ARGS__; }); \
    break;
#define HIPTOOL_FUNCTION_WITH(name, ...) HIPTOOL_FUNCTION(name, __VA_ARGS__)
#include "hiptool/operations.def"
#undef HIPTOOL_FUNCTION
#undef HIPTOOL_FUNCTION_WITH
    }
  }
};

inline __device__ float multiply_add(float x, float y, float z) { return x * y + z; }
inline __device__ double multiply_add(double x, double y, double z) { return x * y + z; }
// Wraps; the lower bits are those of every shorter type.
inline __device__ int64_t multiply_add(int64_t x, int64_t y, int64_t z) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y) +
                              static_cast<uint64_t>(z));
}

template <class Value>
struct Affine {
  Value factor;
  Value addend;

  template <unsigned length>
  __forceinline__ __device__ void compute(unsigned, Value* values) const {
#pragma unroll
    for (unsigned k = 0; k < length; ++k) values[k] = multiply_add(values[k], factor, addend);
  }
};

template <class Value>
struct InMemory;

// What each thread takes at a time, in the type that it has in memory.
template <>
struct InMemory<float> {
  enum : unsigned { length = 4 };

  // Calls body(T()) with the type.
  template <class Body>
  static __forceinline__ __device__ void visit(Type type, Body body) {
    switch (type) {
      case Type::f16: body(F16()); break;
      case Type::bf16: body(Bf16()); break;
      case Type::f8e4m3: body(F8()); break;
      default: body(float()); break;
    }
  }
};
template <>
struct InMemory<int64_t> {
  enum : unsigned { length = 4 };

  template <class Body>
  static __forceinline__ __device__ void visit(Type type, Body body) {
    switch (type) {
      case Type::u8: body(static_cast<uint8_t>(0)); break;
      case Type::u32: body(static_cast<uint32_t>(0)); break;
      case Type::i16: body(static_cast<int16_t>(0)); break;
      case Type::i32: body(static_cast<int32_t>(0)); break;
      default: body(static_cast<int64_t>(0)); break;
    }
  }
};
template <>
struct InMemory<double> {
  enum : unsigned { length = 2 };
  template <class Body>
  static __forceinline__ __device__ void visit(Type, Body body) {
    body(double());
  }
};

// Functions of a type, of which `visit` gives a value. (Generic lambdas are not functions of a
// device for NVRTC.)
template <class Value, class Place>
struct Load {
  const Place& place;
  const void* in;
  Value* values;

  template <class Stored>
  __forceinline__ __device__ void operator()(Stored) const {
    constexpr unsigned length = InMemory<Value>::length;
    Stored elements[length];
    place.template load<0>(static_cast<const Stored*>(in), elements);
#pragma unroll
    for (unsigned k = 0; k < length; ++k) values[k] = Element<Stored>::widen(elements[k]);
  }
};

template <class Value, class Place>
struct Store {
  const Place& place;
  const Value* values;
  void* out;

  template <class Stored>
  __forceinline__ __device__ void operator()(Stored) const {
    using Own = typename Element<Stored>::Value;
    constexpr unsigned length = InMemory<Value>::length;
    Stored elements[length];
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      elements[k] = Element<Stored>::narrow(static_cast<Own>(values[k]));
    }
    place.template store<1>(static_cast<Stored*>(out), elements);
  }
};

template <class Value, class Operation, class Place>
__forceinline__ __device__ void apply(const Operation& operation, Type type, unsigned count,
                                      const Place& place, const void* in, void* out) {
  constexpr unsigned length = InMemory<Value>::length;
  Value values[length];
  InMemory<Value>::visit(type, Load<Value, Place>{place, in, values});
  operation.template compute<length>(count, values);
  InMemory<Value>::visit(type, Store<Value, Place>{place, values, out});
}

// The bodies of the loops are not lambdas: compilers would not inline such long ones.
template <class Value, class Operation>
__forceinline__ __device__ void apply_packed(const Operation& operation, Type type, uint64_t count,
                                             const void* in, void* out) {
  constexpr unsigned length = InMemory<Value>::length;
  const uint64_t stride = hiptool_device::unit_stride() * length;
  for (uint64_t i = hiptool_device::first_unit() * length; i < count; i += stride) {
    apply<Value>(operation, type, length, PackedRun<length>{i, count}, in, out);
  }
}

template <class Value, class Operation>
__forceinline__ __device__ void apply_anywhere(const Operation& operation, Type type,
                                               const Operands<2>& all, const void* in, void* out) {
  constexpr unsigned length = InMemory<Value>::length;
  const uint64_t stride = hiptool_device::unit_stride() * all.run;
  for (uint64_t i = hiptool_device::first_unit() * all.run; i < all.count; i += stride) {
    apply<Value>(operation, type, all.run, AnyRun<length, 2>(all, i), in, out);
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS(family, Operation, Value, name, ...)                                       \
  extern "C" __global__ void __launch_bounds__(256) hiptool_##family##_packed_##name(              \
      __VA_ARGS__, hiptool_ops::Type type, uint64_t count, const void* in, void* out) {            \
    hiptool_ops::apply_packed<Value>(Operation, type, count, in, out);                             \
  }                                                                                                \
  extern "C" __global__ void __launch_bounds__(256)                                                \
      hiptool_##family##_##name(__VA_ARGS__, hiptool_ops::Type type, hiptool_ops::Operands<2> all, \
                                const void* in, void* out) {                                       \
    hiptool_ops::apply_anywhere<Value>(Operation, type, all, in, out);                             \
  }                                                                                                \
  HIPTOOL_EXPORT(hiptool_##family##_packed_##name);                                                \
  HIPTOOL_EXPORT(hiptool_##family##_##name)

#define HIPTOOL_UNARY_KERNELS(name, Value)                                         \
  HIPTOOL_KERNELS(unary, (hiptool_ops::Short<Value>{operation}), Value, name,      \
                  hiptool_ops::UnaryOp operation);                                 \
  HIPTOOL_KERNELS(function, (hiptool_ops::Long<Value>{operation, p}), Value, name, \
                  hiptool_ops::FunctionOp operation, Value p)
#define HIPTOOL_AFFINE_KERNELS(name, Value)                                                        \
  HIPTOOL_KERNELS(affine, (hiptool_ops::Affine<Value>{factor, addend}), Value, name, Value factor, \
                  Value addend)

HIPTOOL_UNARY_KERNELS(f32, float);
HIPTOOL_UNARY_KERNELS(f64, double);
HIPTOOL_AFFINE_KERNELS(f32, float);
HIPTOOL_AFFINE_KERNELS(f64, double);
HIPTOOL_AFFINE_KERNELS(i64, int64_t);
