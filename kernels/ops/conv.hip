// SPDX-License-Identifier: MIT
// Convolutions. Either by products of matrices: images unfolded to columns, whose products with the
// weights are the results, and products folded to images. Or directly, where a group has so few
// output channels that products would leave most of a tile empty.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_windows.h"

namespace hiptool_ops {

template <class Stored>
inline __device__ void unfold(const Unfold& work, const Stored* in, Stored* out) {
  const uint64_t threads = static_cast<uint64_t>(1) << work.group_bits;
  const uint64_t lane = threadIdx.x & (threads - 1);
  const uint64_t stride = hiptool_device::unit_stride() >> work.group_bits;
#pragma unroll 1
  for (uint64_t row = hiptool_device::first_unit() >> work.group_bits; row < work.rows.count;
       row += stride) {
    uint64_t places[4];
    find_places(work.rows, row, places);
    const uint64_t image_row = places[1] + work.first_row;
    const bool is_inside = image_row < work.height;
    const Stored* from = in + (is_inside ? places[0] + image_row * work.row_stride : 0);
    const uint64_t first_column = places[2] + work.first_column;
#pragma unroll 1
    for (uint64_t k = lane; k < work.length; k += threads) {
      const uint64_t column = first_column + k * work.step;
      Stored element = 0;
      if (is_inside && column < work.width) element = from[column * work.column_stride];
      out[places[3] + k] = element;
    }
  }
}

// The place in the input whose product with element j of the kernel belongs to the place of the
// result; at least axis.size where there is none.
inline __device__ uint64_t folded_place(const FoldAxis& axis, uint64_t place, uint64_t j,
                                        bool is_wide) {
  const uint64_t none = ~static_cast<uint64_t>(0);
  const uint64_t end = place + axis.padding;
  const uint64_t start = j * axis.dilation;
  if (end < start) return none;
  const uint64_t distance = end - start;
  uint64_t quotient = 0;
  if (is_wide) {
    quotient = distance / axis.stride;
  } else {
    const uint32_t low = static_cast<uint32_t>(distance);
    const uint64_t high = static_cast<uint64_t>(low) * axis.by_stride.multiplier >> 32;
    quotient = (static_cast<uint32_t>(high) + low) >> axis.by_stride.shift;
  }
  return quotient * axis.stride == distance ? quotient : none;
}

// Every result adds its products in the order of the kernel's elements.
template <class Stored>
inline __device__ void fold(const Fold& work, const typename Element<Stored>::Value* products,
                            Stored* out) {
  const bool is_wide = work.is_wide != 0;
  const uint64_t image = work.rows.size * work.columns.size;
  each_place(work.all, 1, [&](const uint64_t(&places)[4]) {
    typename Element<Stored>::Value sum = 0;
#pragma unroll 1
    for (uint64_t i = 0; i < work.rows.kernel; ++i) {
      const uint64_t row = folded_place(work.rows, places[1], i, is_wide);
      if (row >= work.rows.size) continue;
      const uint64_t first = places[0] + i * work.columns.kernel * image + row * work.columns.size;
#pragma unroll 1
      for (uint64_t j = 0; j < work.columns.kernel; ++j) {
        const uint64_t column = folded_place(work.columns, places[2], j, is_wide);
        if (column < work.columns.size) sum += products[first + j * image + column];
      }
    }
    out[places[3]] = Element<Stored>::narrow(sum);
  });
}

inline __device__ float fused_product(float x, float y, float sum) { return __fmaf_rn(x, y, sum); }
inline __device__ double fused_product(double x, double y, double sum) {
  return __fma_rn(x, y, sum);
}

// The place in the input that element j of the kernel takes for a result.
inline __device__ uint64_t direct_place(const Direct& work, const FoldAxis& axis, uint64_t place,
                                        uint64_t j) {
  if (work.is_transposed != 0) return folded_place(axis, place, j, work.is_wide != 0);
  return place * axis.stride + j * axis.dilation - axis.padding;
}

// Every sum is in the order of channels, rows and columns of the kernel. What is outside of the
// image is a zero; for a transposed convolution it does not exist.
template <class Stored>
inline __device__ void convolve(const Direct& work, const Stored* in, const Stored* weights,
                                Stored* out) {
  using Value = typename Element<Stored>::Value;
  each_place(work.all, 1, [&](const uint64_t(&places)[5]) {
    Value sum = 0;
#pragma unroll 1
    for (uint64_t c = 0; c < work.channels; ++c) {
      const Stored* const image = in + places[0] + c * work.channel_strides[0];
      const Stored* const kernel = weights + places[1] + c * work.channel_strides[1];
#pragma unroll 1
      for (uint64_t i = 0; i < work.rows.kernel; ++i) {
        const uint64_t row = direct_place(work, work.rows, places[2], i);
#pragma unroll 1
        for (uint64_t j = 0; j < work.columns.kernel; ++j) {
          const uint64_t column = direct_place(work, work.columns, places[3], j);
          const bool is_inside = row < work.rows.size && column < work.columns.size;
          if (!is_inside && work.is_transposed != 0) continue;
          Value x = 0;
          if (is_inside) {
            x = Element<Stored>::widen(
                image[row * work.row_strides[0] + column * work.column_strides[0]]);
          }
          const Value y =
              Element<Stored>::widen(kernel[i * work.row_strides[1] + j * work.column_strides[1]]);
          sum = fused_product(x, y, sum);
        }
      }
    }
    out[places[4]] = Element<Stored>::narrow(sum);
  });
}

}  // namespace hiptool_ops

#define HIPTOOL_UNFOLD(size, Stored)                                                   \
  extern "C" __global__ void __launch_bounds__(256)                                    \
      hiptool_unfold_##size(hiptool_ops::Unfold work, const Stored* in, Stored* out) { \
    hiptool_ops::unfold(work, in, out);                                                \
  }                                                                                    \
  HIPTOOL_EXPORT(hiptool_unfold_##size)

#define HIPTOOL_FOLD(type, Stored, Sum)                                               \
  extern "C" __global__ void __launch_bounds__(256)                                   \
      hiptool_fold_##type(hiptool_ops::Fold work, const Sum* products, Stored* out) { \
    hiptool_ops::fold(work, products, out);                                           \
  }                                                                                   \
  HIPTOOL_EXPORT(hiptool_fold_##type)

#define HIPTOOL_CONVOLVE(type, Stored)                                                  \
  extern "C" __global__ void __launch_bounds__(256) hiptool_convolve_##type(            \
      hiptool_ops::Direct work, const Stored* in, const Stored* weights, Stored* out) { \
    hiptool_ops::convolve(work, in, weights, out);                                      \
  }                                                                                     \
  HIPTOOL_EXPORT(hiptool_convolve_##type)

HIPTOOL_UNFOLD(2, uint16_t);
HIPTOOL_UNFOLD(4, uint32_t);
HIPTOOL_UNFOLD(8, uint64_t);

HIPTOOL_FOLD(f16, hiptool_ops::F16, float);
HIPTOOL_FOLD(bf16, hiptool_ops::Bf16, float);
HIPTOOL_FOLD(f32, float, float);
HIPTOOL_FOLD(f64, double, double);

HIPTOOL_CONVOLVE(f16, hiptool_ops::F16);
HIPTOOL_CONVOLVE(bf16, hiptool_ops::Bf16);
HIPTOOL_CONVOLVE(f32, float);
HIPTOOL_CONVOLVE(f64, double);
