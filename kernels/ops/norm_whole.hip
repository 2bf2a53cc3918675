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

// Two results as a word.
inline __device__ uint32_t narrow_pair(F16, float low, float high) {
  return hiptool_device::numbers_to_f16(low, high);
}
inline __device__ uint32_t narrow_pair(Bf16, float low, float high) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return hiptool_device::to_bf16(low) | static_cast<uint32_t>(hiptool_device::to_bf16(high)) << 16;
#endif
}

// Eight results as a unit. Patterns of NaN are looked for in all of them at once.
template <class Stored>
__forceinline__ __device__ uint4 narrow_unit(const float* values) {
  using Format = typename FormatOf<Stored>::Type;
  constexpr uint32_t infinity = Format::most;
  uint32_t words[4];
  uint32_t found = 0;
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) {
    words[k] = narrow_pair(Stored(), values[2 * k], values[2 * k + 1]);
    found |= (words[k] & 0x7FFF7FFFU) + (0x7FFFU - infinity) * 0x00010001U;
  }
  if ((found & 0x80008000U) != 0) {
#pragma unroll
    for (uint32_t& word : words) {
      const uint32_t is_nan =
          ((word & 0x7FFF7FFFU) + (0x7FFFU - infinity) * 0x00010001U) >> 15 & 0x00010001U;
      word = (word & ~(is_nan * 0xFFFFU)) | is_nan * Format::nan;
    }
  }
  return hiptool_device::make_unit(words[0], words[1], words[2], words[3]);
}

// join_block of values whose memory no thread writes again before all have passed another barrier.
template <class Join, class Joined>
__forceinline__ __device__ Joined join_row(Joined value, Joined* groups) {
  value = hiptool_device::join_32<Join>(value);
  if (threadIdx.x % 32 == 0) groups[threadIdx.x / 32] = value;
  __syncthreads();
  constexpr unsigned bytes = row_threads / 32 * sizeof(Joined);
  Joined all[row_threads / 32];
  float words[bytes / sizeof(float)];
#pragma unroll
  for (unsigned unit = 0; unit < bytes / 16; ++unit) {
    hiptool_device::read_unit(reinterpret_cast<const uint4*>(groups)[unit], words + 4 * unit);
  }
  hiptool_device::copy_bytes<bytes>(all, words);
  value = all[0];
#pragma unroll
  for (unsigned i = 1; i < row_threads / 32; ++i) value = Join::join(value, all[i]);
  return value;
}

// Divides by the width of a row: of a power of two the product has the same bits.
struct Width {
  float count;
  float inverse;  // 0: no power of two
  __device__ explicit Width(unsigned width)
      : count(static_cast<float>(width)),
        inverse((width & (width - 1)) == 0 ? 1 / static_cast<float>(width) : 0) {}
  __forceinline__ __device__ float mean_of(float sum) const {
    return inverse != 0 ? sum * inverse : sum / count;
  }
};

// Of one row, with the bits of normalise() of norm.hip: from its elements the results. `turn` is
// odd in every second row of a block.
template <unsigned pieces, bool is_centred, class Row>
__forceinline__ __device__ void scale_row(const Row& row, const Width& width, unsigned turn,
                                          float epsilon, float (&values)[pieces][Row::length]) {
  constexpr unsigned length = Row::length;
  constexpr unsigned groups = row_threads / 32;
  static_assert(3 * groups * sizeof(float) <= join_bytes, "sums of two kinds");
  auto* const shared = reinterpret_cast<float*>(hiptool_device::dynamic_shared());
  if (is_centred) {
    float mean = 0;
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
      if (!row.has(p)) break;
#pragma unroll
      for (unsigned k = 0; k < length; ++k) mean = mean + values[p][k];
    }
    mean = width.mean_of(join_row<hiptool_device::Sum>(mean, shared));
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
#pragma unroll
      for (unsigned k = 0; k < length; ++k) values[p][k] = values[p][k] - mean;
    }
  }
  Moments<float> moments = {0, 0};
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    if (!row.has(p)) break;
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      if (is_centred) moments.first = moments.first + values[p][k];
      moments.second = moments.second + values[p][k] * values[p][k];
    }
  }
  float shift = 0;
  if (is_centred) {
    moments = join_row<SumBoth>(moments, reinterpret_cast<Moments<float>*>(shared + groups));
    shift = width.mean_of(moments.first);
  } else {
    moments.second =
        join_row<hiptool_device::Sum>(moments.second, shared + (turn % 2 == 0 ? 0 : groups));
  }
  const float variance = width.mean_of(moments.second) - shift * shift;
  const float scale = 1 / root(variance + epsilon);
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      if (is_centred) values[p][k] = values[p][k] - shift;
      values[p][k] = values[p][k] * scale;
    }
  }
}

// What a thread needs of weights or biases in every row of a block, in shared memory: in registers
// they would not leave enough for a next row.
template <unsigned pieces, class Stored>
struct KeptRow {
  enum : unsigned { length = Run<Stored>::length };
  uint4* units;

  __device__ explicit KeptRow(unsigned operand)
      : units(hiptool_device::dynamic_shared() + join_bytes / 16 + operand * pieces * row_threads +
              threadIdx.x) {}
  template <class Row>
  __forceinline__ __device__ void keep(const Row& row, const Stored* from) const {
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
      if (row.has(p)) move_bytes<16>(units + p * row_threads, from + row.first(p));
    }
  }
  __forceinline__ __device__ void load(unsigned piece, Stored* to) const {
    load_piece<length>(reinterpret_cast<const Stored*>(units + piece * row_threads), to);
  }
};

// A block loads its next row before it computes one: memory would wait while threads wait for each
// other.
template <unsigned pieces, bool is_centred, class Stored>
__forceinline__ __device__ void normalise_whole(const Rows& all, double epsilon, const Stored* in,
                                                const Stored* weight, const Stored* bias,
                                                Stored* out) {
  using Row = WholeRow<Stored, pieces>;
  constexpr unsigned length = Row::length;
  const Row row = {static_cast<unsigned>(all.width)};
  const Width width(row.width);
  const KeptRow<pieces, Stored> weights(0);
  const KeptRow<pieces, Stored> biases(1);
  Stored run[pieces][length] = {};
  uint64_t places[2];
  find_places(all.rows, blockIdx.x, places);
  row.load(in + places[0], run);
  weights.keep(row, weight);
  if (bias != nullptr) biases.keep(row, bias);
  unsigned turn = 0;
#pragma unroll 1
  for (uint64_t index = blockIdx.x; index < all.rows.count; index += gridDim.x) {
    Stored* const to = out + places[1];
    float values[pieces][length];
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
#pragma unroll
      for (unsigned k = 0; k < length; ++k) values[p][k] = Element<Stored>::widen(run[p][k]);
    }
    if (index + gridDim.x < all.rows.count) {
      find_places(all.rows, index + gridDim.x, places);
      row.load(in + places[0], run);
    }
    scale_row<pieces, is_centred>(row, width, turn, static_cast<float>(epsilon), values);
    ++turn;
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
      if (!row.has(p)) break;
      Stored own[length];
      weights.load(p, own);
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        values[p][k] = values[p][k] * Element<Stored>::widen(own[k]);
      }
      if (bias != nullptr) {
        biases.load(p, own);
#pragma unroll
        for (unsigned k = 0; k < length; ++k) {
          values[p][k] = values[p][k] + Element<Stored>::widen(own[k]);
        }
      }
      *reinterpret_cast<uint4*>(to + row.first(p)) = narrow_unit<Stored>(values[p]);
    }
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS(pieces, type, Stored)                                                   \
  extern "C" __global__ void __launch_bounds__(256, hiptool_ops::whole_pieces_at_once / pieces) \
      hiptool_softmax_whole_##pieces##_##type(hiptool_ops::Rows all, const Stored* in,          \
                                              Stored* out) {                                    \
    hiptool_ops::softmax_whole<pieces>(all, in, out);                                           \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(256, hiptool_ops::whole_pieces_at_once / pieces) \
      hiptool_rmsnorm_whole_##pieces##_##type(hiptool_ops::Rows all, double epsilon,            \
                                              const Stored* in, const Stored* weight,           \
                                              Stored* out) {                                    \
    const Stored* const none = nullptr;                                                         \
    hiptool_ops::normalise_whole<pieces, false>(all, epsilon, in, weight, none, out);           \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(256, hiptool_ops::whole_pieces_at_once / pieces) \
      hiptool_layernorm_whole_##pieces##_##type(hiptool_ops::Rows all, double epsilon,          \
                                                const Stored* in, const Stored* weight,         \
                                                const Stored* bias, Stored* out) {              \
    hiptool_ops::normalise_whole<pieces, true>(all, epsilon, in, weight, bias, out);            \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_softmax_whole_##pieces##_##type);                                      \
  HIPTOOL_EXPORT(hiptool_rmsnorm_whole_##pieces##_##type);                                      \
  HIPTOOL_EXPORT(hiptool_layernorm_whole_##pieces##_##type)

HIPTOOL_KERNELS(2, f16, hiptool_ops::F16);
HIPTOOL_KERNELS(2, bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(4, f16, hiptool_ops::F16);
HIPTOOL_KERNELS(4, bf16, hiptool_ops::Bf16);
