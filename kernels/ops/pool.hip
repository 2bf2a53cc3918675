// SPDX-License-Identifier: MIT
// Pooling and upsampling of images. Every thread makes one element of the result at a time.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_windows.h"

namespace hiptool_ops {

// The type in which the elements of a window are added, row by row.
template <class Stored>
struct WindowSum {
  using Value = typename Element<Stored>::Value;
  static __device__ Value operand(Stored stored) { return Element<Stored>::widen(stored); }
  static __device__ Stored average(Value sum, uint64_t count) {
    return Element<Stored>::narrow(sum / static_cast<Value>(count));
  }
};
template <class Stored>
struct WholeWindowSum {
  using Value = uint64_t;
  static __device__ Value operand(Stored stored) { return static_cast<Value>(stored); }
  static __device__ Stored average(Value sum, uint64_t count) {
    return static_cast<Stored>(sum / count);
  }
};
template <>
struct WindowSum<uint8_t> : WholeWindowSum<uint8_t> {};
template <>
struct WindowSum<uint32_t> : WholeWindowSum<uint32_t> {};
// With a sign, which sums that wrap keep.
template <>
struct WindowSum<int64_t> {
  using Value = uint64_t;
  static __device__ Value operand(int64_t stored) { return static_cast<Value>(stored); }
  static __device__ int64_t average(Value sum, uint64_t count) {
    const bool is_negative = sum >> 63 != 0;
    const Value quotient = (is_negative ? 0 - sum : sum) / count;
    return static_cast<int64_t>(is_negative ? 0 - quotient : quotient);
  }
};

inline __device__ bool is_positive_zero(float x) { return __float_as_uint(x) == 0; }
inline __device__ bool is_positive_zero(double x) { return __double_as_longlong(x) == 0; }
template <class Value>
inline __device__ bool is_positive_zero(Value) {
  return false;
}

// NaN stays: only another NaN replaces it. The positive zero is larger than the negative one.
template <class Value>
inline __device__ bool comes_after(Value x, Value best) {
  return x > best || x != x || (x == best && is_positive_zero(x));
}

template <class Body>
inline __device__ void each_of_window(const Windows& windows, uint64_t first, Body body) {
#pragma unroll 1
  for (uint64_t row = 0; row < windows.rows; ++row) {
#pragma unroll 1
    for (uint64_t column = 0; column < windows.columns; ++column) {
      body(first + row * windows.row_stride + column * windows.column_stride);
    }
  }
}

template <class Stored>
inline __device__ void pool(const Windows& windows, const Stored* in, Stored* out) {
  using Value = typename Element<Stored>::Value;
  using Sum = WindowSum<Stored>;
  each_place(windows.all, 1, [&](const uint64_t(&places)[2]) {
    if (windows.kind == PoolKind::average) {
      typename Sum::Value sum = 0;
      each_of_window(windows, places[0], [&](uint64_t place) { sum += Sum::operand(in[place]); });
      out[places[1]] = Sum::average(sum, windows.rows * windows.columns);
    } else {
      Value best = Element<Stored>::widen(in[places[0]]);
      each_of_window(windows, places[0], [&](uint64_t place) {
        const Value x = Element<Stored>::widen(in[place]);
        if (comes_after(x, best)) best = x;
      });
      out[places[1]] = Element<Stored>::narrow(best);
    }
  });
}

// floor(place * in / out), which is below `in` for every place below `out`.
inline __device__ uint64_t nearest_place(const NearestAxis& axis, uint64_t place, bool is_wide) {
  const uint64_t product = place * axis.in;
  if (is_wide) return product / axis.out;
  const uint32_t low = static_cast<uint32_t>(product);
  const uint64_t high = static_cast<uint64_t>(low) * axis.by_out.multiplier >> 32;
  return (static_cast<uint32_t>(high) + low) >> axis.by_out.shift;
}

template <class Stored>
inline __device__ void upsample_nearest(const Nearest& work, const Stored* in, Stored* out) {
  const bool is_wide = work.is_wide != 0;
  each_place(work.all, 1, [&](const uint64_t(&places)[4]) {
    const uint64_t row = nearest_place(work.rows, places[1], is_wide);
    const uint64_t column = nearest_place(work.columns, places[2], is_wide);
    out[places[3]] = in[places[0] + row * work.rows.stride + column * work.columns.stride];
  });
}

// The two elements that one of the result is between, and their weights.
template <class Value>
struct Between {
  uint64_t first;
  uint64_t second;
  Value first_weight;
  Value second_weight;

  __device__ Between(const LinearAxis& axis, uint64_t place, bool aligns_corners) {
    double at = axis.scale * static_cast<double>(place);
    if (!aligns_corners) {
      at = axis.scale * (static_cast<double>(place) + 0.5) - 0.5;
      if (at < 0) at = 0;
    }
    const double last = static_cast<double>(axis.last);
    first = at < last ? static_cast<uint64_t>(at) : axis.last;
    second = first < axis.last ? first + 1 : first;
    double inside = at - static_cast<double>(first);
    if (inside > 1) inside = 1;
    second_weight = static_cast<Value>(inside);
    first_weight = 1 - second_weight;
    first *= axis.stride;
    second *= axis.stride;
  }
};

template <class Stored>
inline __device__ void upsample_bilinear(const Bilinear& work, const Stored* in, Stored* out) {
  using Value = typename Element<Stored>::Value;
  const bool aligns_corners = work.aligns_corners != 0;
  each_place(work.all, 1, [&](const uint64_t(&places)[4]) {
    const Between<Value> rows(work.rows, places[1], aligns_corners);
    const Between<Value> columns(work.columns, places[2], aligns_corners);
    const auto along_row = [&](uint64_t row) {
      const Value left = Element<Stored>::widen(in[places[0] + row + columns.first]);
      const Value right = Element<Stored>::widen(in[places[0] + row + columns.second]);
      return columns.first_weight * left + columns.second_weight * right;
    };
    const Value upper = along_row(rows.first);
    const Value lower = along_row(rows.second);
    out[places[3]] =
        Element<Stored>::narrow(rows.first_weight * upper + rows.second_weight * lower);
  });
}

}  // namespace hiptool_ops

#define HIPTOOL_POOL(type, Stored)                                                       \
  extern "C" __global__ void __launch_bounds__(256)                                      \
      hiptool_pool_##type(hiptool_ops::Windows windows, const Stored* in, Stored* out) { \
    hiptool_ops::pool(windows, in, out);                                                 \
  }                                                                                      \
  HIPTOOL_EXPORT(hiptool_pool_##type)

#define HIPTOOL_NEAREST(size, Stored)                                                             \
  extern "C" __global__ void __launch_bounds__(256)                                               \
      hiptool_upsample_nearest_##size(hiptool_ops::Nearest work, const Stored* in, Stored* out) { \
    hiptool_ops::upsample_nearest(work, in, out);                                                 \
  }                                                                                               \
  HIPTOOL_EXPORT(hiptool_upsample_nearest_##size)

#define HIPTOOL_BILINEAR(type, Stored)                                                \
  extern "C" __global__ void __launch_bounds__(256) hiptool_upsample_bilinear_##type( \
      hiptool_ops::Bilinear work, const Stored* in, Stored* out) {                    \
    hiptool_ops::upsample_bilinear(work, in, out);                                    \
  }                                                                                   \
  HIPTOOL_EXPORT(hiptool_upsample_bilinear_##type)

HIPTOOL_POOL(u8, uint8_t);
HIPTOOL_POOL(u32, uint32_t);
HIPTOOL_POOL(i64, int64_t);
HIPTOOL_POOL(f16, hiptool_ops::F16);
HIPTOOL_POOL(bf16, hiptool_ops::Bf16);
HIPTOOL_POOL(f32, float);
HIPTOOL_POOL(f64, double);

HIPTOOL_NEAREST(1, uint8_t);
HIPTOOL_NEAREST(2, uint16_t);
HIPTOOL_NEAREST(4, uint32_t);
HIPTOOL_NEAREST(8, uint64_t);

HIPTOOL_BILINEAR(f16, hiptool_ops::F16);
HIPTOOL_BILINEAR(bf16, hiptool_ops::Bf16);
HIPTOOL_BILINEAR(f32, float);
HIPTOOL_BILINEAR(f64, double);
