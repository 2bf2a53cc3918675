// SPDX-License-Identifier: MIT
// Conversions between all types, which are arguments: a number is loaded as int64_t, float or
// double, which all types fit into, and rounded once when it is stored.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"

namespace hiptool_ops {

// Neighbours that one thread takes at once, of every type.
enum : unsigned { cast_length = 4 };

// Two runs of a packed tensor, a distance apart: their loads wait for memory together.
struct PackedPair {
  enum : unsigned { length = 2 * cast_length };
  uint64_t first;
  uint64_t distance;
  uint64_t count;

  template <unsigned operand, class Stored>
  __device__ void load(const Stored* base, Stored* to) const {
    load_up_to<cast_length>(base, first, count, to);
    const uint64_t second = first + distance;
    load_up_to<cast_length>(base, second < count ? second : first, count, to + cast_length);
  }
  template <unsigned operand, class Stored>
  __device__ void store(Stored* base, const Stored* from) const {
    store_up_to<cast_length>(base, first, count, from);
    const uint64_t second = first + distance;
    if (second < count) store_up_to<cast_length>(base, second, count, from + cast_length);
  }
};

struct OnePackedRun : PackedRun<cast_length> {
  enum : unsigned { length = cast_length };
};
struct OneRun : AnyRun<cast_length, 2> {
  enum : unsigned { length = cast_length };
  using AnyRun<cast_length, 2>::AnyRun;
};

template <class Body>
__forceinline__ __device__ void visit_whole(Type type, Body body) {
  switch (type) {
    case Type::u8: body(static_cast<uint8_t>(0)); break;
    case Type::u32: body(static_cast<uint32_t>(0)); break;
    case Type::i16: body(static_cast<int16_t>(0)); break;
    case Type::i32: body(static_cast<int32_t>(0)); break;
    default: body(static_cast<int64_t>(0)); break;
  }
}
template <class Body>
__forceinline__ __device__ void visit_single(Type type, Body body) {
  switch (type) {
    case Type::f16: body(F16()); break;
    case Type::bf16: body(Bf16()); break;
    case Type::f8e4m3: body(F8()); break;
    default: body(float()); break;
  }
}
inline __device__ bool is_whole(Type type) { return type <= Type::i64; }

// Truncates; what is too large becomes the largest number, and NaN 0.
template <class Real>
inline __device__ int64_t to_whole(Real x) {
  constexpr Real end = static_cast<Real>(9223372036854775808.0);
  if (x < -end) return -0x7FFFFFFFFFFFFFFF - 1;
  if (x >= end) return 0x7FFFFFFFFFFFFFFF;
  return x != x ? 0 : static_cast<int64_t>(x);
}

// A double that rounds to a narrower type as the number itself does: what does not fit is kept in
// the last bit (rounding to odd; S. Boldo, G. Melquiond, IEEE Transactions on Computers 57, 2008).
inline __device__ double to_odd_double(int64_t x) {
  uint64_t size = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  if (size >> 53 != 0) size = (size >> 11 | (size & 0x7FF ? 1 : 0)) << 11;
  const double result = static_cast<double>(size);
  return x < 0 ? -result : result;
}

template <class Stored>
struct Converted {  // of integer types
  static __device__ Stored from(int64_t x) { return static_cast<Stored>(x); }
  template <class Real>
  static __device__ Stored from(Real x) {
    constexpr bool has_sign = static_cast<Stored>(-1) < 0;
    constexpr int bits = sizeof(Stored) * 8 - (has_sign ? 1 : 0);
    constexpr int64_t most = static_cast<int64_t>(~static_cast<uint64_t>(0) >> (64 - bits));
    constexpr int64_t least = has_sign ? -most - 1 : 0;
    const int64_t whole = to_whole(x);
    return static_cast<Stored>(whole > most ? most : whole < least ? least : whole);
  }
};
template <>
struct Converted<float> {
  static __device__ float from(int64_t x) { return static_cast<float>(x); }
  static __device__ float from(float x) { return hiptool_device::canonical(x); }
  static __device__ float from(double x) { return hiptool_device::to_f32(x); }
};
template <>
struct Converted<double> {
  static __device__ double from(int64_t x) { return static_cast<double>(x); }
  template <class Real>
  static __device__ double from(Real x) {
    return hiptool_device::canonical(static_cast<double>(x));
  }
};
template <>
struct Converted<F16> {
  static __device__ F16 from(int64_t x) { return from(to_odd_double(x)); }
  static __device__ F16 from(float x) { return {hiptool_device::value_to_f16(x)}; }
  static __device__ F16 from(double x) { return {hiptool_device::to_f16(x)}; }
};
template <>
struct Converted<Bf16> {
  static __device__ Bf16 from(int64_t x) { return from(to_odd_double(x)); }
  template <class Real>
  static __device__ Bf16 from(Real x) {
    return {hiptool_device::to_bf16(x)};
  }
};
template <>
struct Converted<F8> {
  static __device__ F8 from(int64_t x) { return from(to_odd_double(x)); }
  template <class Real>
  static __device__ F8 from(Real x) {
    return {hiptool_device::to_f8e4m3(x)};
  }
};

// Functions of a type, of which visit_... gives a value. (Generic lambdas are not functions of a
// device for NVRTC.)
template <class Value, class Place>
struct Load {
  const Place& place;
  const void* in;
  Value* values;

  template <class Stored>
  __forceinline__ __device__ void operator()(Stored) const {
    Stored elements[Place::length];
    place.template load<0>(static_cast<const Stored*>(in), elements);
#pragma unroll
    for (unsigned k = 0; k < Place::length; ++k) {
      values[k] = static_cast<Value>(Element<Stored>::widen(elements[k]));
    }
  }
};

template <class Value, class Place>
struct Store {
  const Place& place;
  const Value* values;
  void* out;

  template <class Stored>
  __forceinline__ __device__ void operator()(Stored) const {
    Stored elements[Place::length];
#pragma unroll
    for (unsigned k = 0; k < Place::length; ++k) elements[k] = Converted<Stored>::from(values[k]);
    place.template store<1>(static_cast<Stored*>(out), elements);
  }
};

template <class Value, class Place>
__forceinline__ __device__ void store_as(Type to, const Place& place, const Value* values,
                                         void* out) {
  const Store<Value, Place> store = {place, values, out};
  if (is_whole(to)) {
    visit_whole(to, store);
  } else if (to == Type::f64) {
    store(double());
  } else {
    visit_single(to, store);
  }
}

template <class Place>
__forceinline__ __device__ void convert(Type from, Type to, const Place& place, const void* in,
                                        void* out) {
  if (is_whole(from)) {
    int64_t values[Place::length];
    visit_whole(from, Load<int64_t, Place>{place, in, values});
    store_as(to, place, values, out);
  } else if (from == Type::f64) {
    double values[Place::length];
    Load<double, Place>{place, in, values}(double());
    store_as(to, place, values, out);
  } else {
    float values[Place::length];
    visit_single(from, Load<float, Place>{place, in, values});
    store_as(to, place, values, out);
  }
}

}  // namespace hiptool_ops

// Where results are larger than the numbers they come from, writes take most of the time, and go in
// one piece.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_cast_packed(hiptool_ops::Type from, hiptool_ops::Type to, uint64_t count,
                        const void* in, void* out) {
  using namespace hiptool_ops;
  const uint64_t stride = hiptool_device::unit_stride() * cast_length;
  for (uint64_t i = hiptool_device::first_unit() * cast_length; i < count; i += stride) {
    convert(from, to, OnePackedRun{{i, count}}, in, out);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_cast_packed_pairs(hiptool_ops::Type from, hiptool_ops::Type to, uint64_t count,
                              const void* in, void* out) {
  using namespace hiptool_ops;
  const uint64_t stride = hiptool_device::unit_stride() * cast_length;
  for (uint64_t i = hiptool_device::first_unit() * cast_length; i < count; i += 2 * stride) {
    convert(from, to, PackedPair{i, stride, count}, in, out);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_cast(hiptool_ops::Type from, hiptool_ops::Type to, hiptool_ops::Operands<2> all,
                 const void* in, void* out) {
  using namespace hiptool_ops;
  const uint64_t stride = hiptool_device::unit_stride() * all.run;
  for (uint64_t i = hiptool_device::first_unit() * all.run; i < all.count; i += stride) {
    convert(from, to, OneRun(all, i), in, out);
  }
}

HIPTOOL_EXPORT(hiptool_cast_packed);
HIPTOOL_EXPORT(hiptool_cast_packed_pairs);
HIPTOOL_EXPORT(hiptool_cast);
