// SPDX-License-Identifier: MIT
// Conversions between all types, which are arguments: a number is loaded as int64_t, float or
// double, which all types fit into, and rounded once when it is stored.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"

namespace hiptool_ops {

// Neighbours that one thread takes, of every type.
enum : unsigned { cast_length = 4 };

template <class Body>
__forceinline__ __device__ void visit_whole(Type type, Body body) {
  switch (type) {
    case Type::u8: body(uint8_t()); break;
    case Type::u32: body(uint32_t()); break;
    case Type::i16: body(int16_t()); break;
    case Type::i32: body(int32_t()); break;
    default: body(int64_t()); break;
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
  template <class Real>
  static __device__ F16 from(Real x) {
    return {hiptool_device::to_f16(x)};
  }
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

// The elements of one thread: in packed tensors...
struct Packed {
  uint64_t first;
  uint64_t count;

  template <class Stored>
  __device__ void load(const Stored* base, Stored* to) const {
    load_up_to<cast_length>(base, first, count, to);
  }
  template <class Stored>
  __device__ void store(Stored* base, const Stored* from) const {
    store_up_to<cast_length>(base, first, count, from);
  }
};
// ...and in those of any layout.
struct Anywhere {
  const Operands<2>& all;
  uint64_t places[2];

  template <class Stored>
  __device__ void load(const Stored* base, Stored* to) const {
    if (all.run == 1) {
      const Stored element = base[places[0]];
#pragma unroll
      for (unsigned k = 0; k < cast_length; ++k) to[k] = element;
    } else {
      load_run<cast_length>(all, 0, base, places[0], to);
    }
  }
  template <class Stored>
  __device__ void store(Stored* base, const Stored* from) const {
    if (all.run == 1) {
      base[places[1]] = from[0];
    } else {
      store_run<cast_length>(all, 1, base, places[1], from);
    }
  }
};

template <class Stored, class Value, class Place>
__forceinline__ __device__ void load_as(const Place& place, const void* in, Value* values) {
  Stored elements[cast_length];
  place.load(static_cast<const Stored*>(in), elements);
#pragma unroll
  for (unsigned k = 0; k < cast_length; ++k) {
    values[k] = static_cast<Value>(Element<Stored>::widen(elements[k]));
  }
}

template <class Value, class Place>
__forceinline__ __device__ void store_as(Type to, const Place& place, const Value* values,
                                         void* out) {
  const auto body = [&](auto stored) {
    using Stored = decltype(stored);
    Stored elements[cast_length];
#pragma unroll
    for (unsigned k = 0; k < cast_length; ++k) elements[k] = Converted<Stored>::from(values[k]);
    place.store(static_cast<Stored*>(out), elements);
  };
  if (is_whole(to)) {
    visit_whole(to, body);
  } else if (to == Type::f64) {
    body(double());
  } else {
    visit_single(to, body);
  }
}

template <class Place>
__forceinline__ __device__ void convert(Type from, Type to, const Place& place, const void* in,
                                        void* out) {
  if (is_whole(from)) {
    int64_t values[cast_length];
    visit_whole(from, [&](auto stored) { load_as<decltype(stored)>(place, in, values); });
    store_as(to, place, values, out);
  } else if (from == Type::f64) {
    double values[cast_length];
    load_as<double>(place, in, values);
    store_as(to, place, values, out);
  } else {
    float values[cast_length];
    visit_single(from, [&](auto stored) { load_as<decltype(stored)>(place, in, values); });
    store_as(to, place, values, out);
  }
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(256)
    hiptool_cast_packed(hiptool_ops::Type from, hiptool_ops::Type to, uint64_t count,
                        const void* in, void* out) {
  using namespace hiptool_ops;
  const uint64_t stride = hiptool_device::unit_stride() * cast_length;
  for (uint64_t i = hiptool_device::first_unit() * cast_length; i < count; i += stride) {
    convert(from, to, Packed{i, count}, in, out);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_cast(hiptool_ops::Type from, hiptool_ops::Type to, hiptool_ops::Operands<2> all,
                 const void* in, void* out) {
  using namespace hiptool_ops;
  const uint64_t stride = hiptool_device::unit_stride() * all.run;
  for (uint64_t i = hiptool_device::first_unit() * all.run; i < all.count; i += stride) {
    Anywhere place = {all, {}};
    find_places(all, i, place.places);
    convert(from, to, place, in, out);
  }
}

HIPTOOL_EXPORT(hiptool_cast_packed);
HIPTOOL_EXPORT(hiptool_cast);
