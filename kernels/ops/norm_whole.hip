// SPDX-License-Identifier: MIT
// Softmax and normalisation of f16 and bf16 rows that a block of 256 threads holds in registers:
// one read and one write of each element, in up to 4 pieces of 16 bytes a thread. Sums have the
// order of norm.hip, and normalisation has its bits; the exponential of softmax has the digits that
// halves need.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_math.h"
#include "hiptool_math_narrow.h"
#include "hiptool_norms.h"
#include "hiptool_rows.h"

namespace hiptool_ops {

template <class Stored>
struct FormatOf;
template <>
struct FormatOf<F16> {
  using Type = hiptool_device::F16;
};
template <>
struct FormatOf<Bf16> {
  using Type = hiptool_device::Bf16;
};

// What a thread has of a row: `pieces` of 16 bytes, of which those beyond the row are not loaded.
template <class Stored, unsigned pieces>
struct WholeRow {
  enum : unsigned { length = Run<Stored>::length };
  unsigned width;

  __device__ unsigned first(unsigned piece) const {
    return (piece * row_threads + threadIdx.x) * length;
  }
  __device__ bool has(unsigned piece) const { return first(piece) < width; }

  __forceinline__ __device__ void load(const Stored* from, Stored (&to)[pieces][length]) const {
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
      if (has(p)) load_piece<length>(from + first(p), to[p]);
    }
  }

  template <class Join, class Joined>
  __forceinline__ __device__ Joined join(Joined value) const {
    auto* const groups = reinterpret_cast<Joined*>(hiptool_device::dynamic_shared());
    return hiptool_device::join_block<Join, row_threads>(value, groups);
  }
};

template <unsigned pieces, class Stored>
__forceinline__ __device__ void softmax_whole(const Rows& all, const Stored* in, Stored* out) {
  using Row = WholeRow<Stored, pieces>;
  using Format = typename FormatOf<Stored>::Type;
  constexpr unsigned length = Row::length;
  const Row row = {static_cast<unsigned>(all.width)};
  for (uint64_t index = blockIdx.x; index < all.rows.count; index += gridDim.x) {
    uint64_t places[2];
    find_places(all.rows, index, places);
    Stored run[pieces][length];
    row.load(in + places[0], run);
    float values[pieces][length];
    float most = -hiptool_math::infinity<float>();
    bool has_nan = false;
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
      if (!row.has(p)) break;
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        const float x = Element<Stored>::widen(run[p][k]);
        values[p][k] = x;
        most = hiptool_narrow::at_least(x, most);
        has_nan = has_nan || x != x;
      }
    }
    most = row.template join<Larger>(most);
    float sum = has_nan ? hiptool_math::not_a_number<float>() : 0;
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
      if (!row.has(p)) break;
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        values[p][k] = hiptool_narrow::exponential_term<Format>(values[p][k] - most);
        sum = sum + values[p][k];
      }
    }
    sum = row.template join<hiptool_device::Sum>(sum);
    // Every share is NaN if the largest element is infinite: +infinity, or -infinity if all are.
    const bool is_finite = hiptool_math::absolute(most) < hiptool_math::infinity<float>();
    const float factor = is_finite ? 1 / sum : hiptool_math::not_a_number<float>();
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
      if (!row.has(p)) break;
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        run[p][k] = Element<Stored>::narrow(values[p][k] * factor);
      }
      store_piece<length>(out + places[1] + row.first(p), run[p]);
    }
  }
}

// As normalise() of norm.hip.
template <unsigned pieces, bool is_centred, class Stored>
__forceinline__ __device__ void normalise_whole(const Rows& all, double epsilon, const Stored* in,
                                                const Stored* weight, const Stored* bias,
                                                Stored* out) {
  using Row = WholeRow<Stored, pieces>;
  constexpr unsigned length = Row::length;
  const Row row = {static_cast<unsigned>(all.width)};
  const float count = static_cast<float>(all.width);
  for (uint64_t index = blockIdx.x; index < all.rows.count; index += gridDim.x) {
    uint64_t places[2];
    find_places(all.rows, index, places);
    Stored run[pieces][length];
    Stored weights[pieces][length];
    row.load(in + places[0], run);
    row.load(weight, weights);
    float mean = 0;
    if (is_centred) {
#pragma unroll
      for (unsigned p = 0; p < pieces; ++p) {
        if (!row.has(p)) break;
#pragma unroll
        for (unsigned k = 0; k < length; ++k) mean = mean + Element<Stored>::widen(run[p][k]);
      }
      mean = row.template join<hiptool_device::Sum>(mean) / count;
    }
    Moments<float> moments = {0, 0};
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
      if (!row.has(p)) break;
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        const float centred = Element<Stored>::widen(run[p][k]) - mean;
        moments = {moments.first + centred, moments.second + centred * centred};
      }
    }
    float shift = 0;
    if (is_centred) {
      moments = row.template join<SumBoth>(moments);
      shift = moments.first / count;
    } else {
      moments.second = row.template join<hiptool_device::Sum>(moments.second);
    }
    const float variance = moments.second / count - shift * shift;
    const float scale = 1 / root(variance + static_cast<float>(epsilon));
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
      if (!row.has(p)) break;
      Stored biases[length];
      if (bias != nullptr) load_piece<length>(bias + row.first(p), biases);
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        const float x = Element<Stored>::widen(run[p][k]);
        const float scaled = ((x - mean) - shift) * scale * Element<Stored>::widen(weights[p][k]);
        run[p][k] = Element<Stored>::narrow(
            bias != nullptr ? scaled + Element<Stored>::widen(biases[k]) : scaled);
      }
      store_piece<length>(out + places[1] + row.first(p), run[p]);
    }
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS(pieces, type, Stored)                                           \
  extern "C" __global__ void __launch_bounds__(256, 8 / pieces)                         \
      hiptool_softmax_whole_##pieces##_##type(hiptool_ops::Rows all, const Stored* in,  \
                                              Stored* out) {                            \
    hiptool_ops::softmax_whole<pieces>(all, in, out);                                   \
  }                                                                                     \
  extern "C" __global__ void __launch_bounds__(256, 8 / pieces)                         \
      hiptool_rmsnorm_whole_##pieces##_##type(hiptool_ops::Rows all, double epsilon,    \
                                              const Stored* in, const Stored* weight,   \
                                              Stored* out) {                            \
    const Stored* const none = nullptr;                                                 \
    hiptool_ops::normalise_whole<pieces, false>(all, epsilon, in, weight, none, out);   \
  }                                                                                     \
  extern "C" __global__ void __launch_bounds__(256, 8 / pieces)                         \
      hiptool_layernorm_whole_##pieces##_##type(hiptool_ops::Rows all, double epsilon,  \
                                                const Stored* in, const Stored* weight, \
                                                const Stored* bias, Stored* out) {      \
    hiptool_ops::normalise_whole<pieces, true>(all, epsilon, in, weight, bias, out);    \
  }                                                                                     \
  HIPTOOL_EXPORT(hiptool_softmax_whole_##pieces##_##type);                              \
  HIPTOOL_EXPORT(hiptool_rmsnorm_whole_##pieces##_##type);                              \
  HIPTOOL_EXPORT(hiptool_layernorm_whole_##pieces##_##type)

HIPTOOL_KERNELS(2, f16, hiptool_ops::F16);
HIPTOOL_KERNELS(2, bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(4, f16, hiptool_ops::F16);
HIPTOOL_KERNELS(4, bf16, hiptool_ops::Bf16);
