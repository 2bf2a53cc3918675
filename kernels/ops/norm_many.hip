// SPDX-License-Identifier: MIT
// Softmax and normalisation of many f16 and bf16 rows: a warp or a few hold a row in registers, so
// that what a row costs besides its elements (joins, divisions, places) is divided by 32 to 128
// elements a thread. All bits are those of norm_whole.hip, in which 256 threads hold a row: each
// sum is kept for the 32 threads that would have it there.
#include <hip/hip_runtime.h>

#include "hiptool_halves.h"
#include "hiptool_math.h"
#include "hiptool_math_narrow.h"
#include "hiptool_row_parts.h"

namespace hiptool_ops {

// Pieces of 16 bytes, as words of two elements.
template <class Part>
struct WordsOfRow {
  uint32_t at[Part::pieces][4];

  template <class Stored>
  __forceinline__ __device__ void load_one(const Part& part, bool has_row, const Stored* row,
                                           unsigned i) {
    uint4 unit = hiptool_device::make_unit(0, 0, 0, 0);
    if (has_row && part.has(i)) {
      unit = load_unit(reinterpret_cast<const uint4*>(row + part.first + Part::offset(i)));
    }
    at[i][0] = unit.x;
    at[i][1] = unit.y;
    at[i][2] = unit.z;
    at[i][3] = unit.w;
  }
  template <class Stored>
  __forceinline__ __device__ void load(const Part& part, bool has_row, const Stored* row) {
#pragma unroll
    for (unsigned i = 0; i < Part::pieces; ++i) load_one(part, has_row, row, i);
  }
};

// Hides that words are widened again: the compiler would keep what it made of them, for which there
// are not enough registers.
template <class Part>
__forceinline__ __device__ void forget_widened([[maybe_unused]] WordsOfRow<Part>& words) {
#if defined(__CUDA_ARCH__)
#pragma unroll
  for (unsigned i = 0; i < Part::pieces; ++i) {
    asm(""
        : "+r"(words.at[i][0]), "+r"(words.at[i][1]), "+r"(words.at[i][2]), "+r"(words.at[i][3]));
  }
#endif
}

template <class Stored>
__forceinline__ __device__ void widen_piece(const uint32_t (&words)[4], float (&values)[8]) {
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) {
    widen_word<Stored>(words[k], values[2 * k], values[2 * k + 1]);
  }
}

// Eight numbers, none of them NaN, as a unit.
template <class Stored>
__forceinline__ __device__ uint4 narrow_numbers(const float (&values)[8]) {
  return hiptool_device::make_unit(
      Halves<Stored>::pair(values[0], values[1]), Halves<Stored>::pair(values[2], values[3]),
      Halves<Stored>::pair(values[4], values[5]), Halves<Stored>::pair(values[6], values[7]));
}

// The rows of a warp, or of those that share one, by turns.
template <class Part, class Stored>
struct Turns {
  const Rows& all;
  uint64_t index;
  uint64_t places[2];
  const Stored* in;

  __device__ Turns(const Rows& rows, const Stored* from)
      : all(rows),
        index(static_cast<uint64_t>(blockIdx.x) * Part::rows_of_block + Part::row_of_block()),
        in(from) {
    find();
  }
  // Whether any row of the block is left: its warps wait for each other.
  __device__ bool has_more() const {
    if (Part::warps == 1) return has_row();
    return index - Part::row_of_block() < all.rows.count;
  }
  __device__ bool has_row() const { return index < all.rows.count; }
  __device__ void find() { find_places(all.rows, has_row() ? index : 0, places); }
  __device__ void advance() {
    index += static_cast<uint64_t>(gridDim.x) * Part::rows_of_block;
    find();
  }
  const __device__ Stored* row() const { return in + places[0]; }
};

// The largest of a thread's elements; has_nan where one of them is NaN, which does not count.
template <class Stored, class Part>
__forceinline__ __device__ float find_largest(const Part& part, const WordsOfRow<Part>& words,
                                              bool& has_nan) {
  float most = -hiptool_math::infinity<float>();
#if HIPTOOL_PAIRS
  uint32_t largest = Halves<Stored>::Format::most * 0x00010001U | 0x80008000U;
#pragma unroll
  for (unsigned i = 0; i < Part::pieces; ++i) {
    if (!part.has(i)) break;
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      largest = Halves<Stored>::largest_or_nan(largest, words.at[i][k]);
    }
  }
  float low = 0;
  float high = 0;
  widen_word<Stored>(largest, low, high);
  has_nan = low != low || high != high;
  most = hiptool_narrow::at_least(low, most);
  most = hiptool_narrow::at_least(high, most);
#else
  has_nan = false;
#pragma unroll
  for (unsigned i = 0; i < Part::pieces; ++i) {
    if (!part.has(i)) break;
    float values[8];
    widen_piece<Stored>(words.at[i], values);
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      most = hiptool_narrow::at_least(values[k], most);
      has_nan = has_nan || values[k] != values[k];
    }
  }
#endif
  return most;
}

template <class Part, class Stored>
__forceinline__ __device__ void softmax_many(const Rows& all, const Stored* in, Stored* out) {
  using Format = typename Halves<Stored>::Format;
  auto* const shared = reinterpret_cast<float*>(hiptool_device::dynamic_shared());
  const Part part(all.width);
  Turns<Part, Stored> turns(all, in);
  WordsOfRow<Part> words;
  words.load(part, turns.has_row(), turns.row());
#pragma unroll 1
  while (turns.has_more()) {
    const bool has_row = turns.has_row();
    Stored* const to = out + turns.places[1] + part.first;
    bool has_nan = false;
    float most = find_largest<Stored>(part, words, has_nan);
    most = join_largest<Part>(most, shared);
    float values[Part::pieces][8];
    float sums[Part::groups];
#pragma unroll
    for (float& sum : sums) sum = has_nan ? hiptool_math::not_a_number<float>() : 0;
#pragma unroll
    for (unsigned i = 0; i < Part::pieces; ++i) {
      if (!part.has(i)) break;
      widen_piece<Stored>(words.at[i], values[i]);
#pragma unroll
      for (unsigned k = 0; k < 8; ++k) {
        values[i][k] = hiptool_narrow::exponential_term<Format>(values[i][k] - most);
        sums[i % Part::groups] = sums[i % Part::groups] + values[i][k];
      }
    }
    const float sum = join_groups<Part>(sums, shared + norm_many_join_floats);
    // Every share is NaN if the largest element is infinite: +infinity, or -infinity if all are.
    const bool is_plain = hiptool_math::absolute(most) < hiptool_math::infinity<float>() &&
                          sum < hiptool_math::infinity<float>();
    const float factor = hiptool_narrow::reciprocal(sum);
    turns.advance();
    if (!is_plain) {
      constexpr uint32_t nan = Halves<Stored>::Format::nan * 0x00010001U;
#pragma unroll 1
      for (unsigned i = 0; has_row && i < Part::pieces && part.has(i); ++i) {
        *reinterpret_cast<uint4*>(to + Part::offset(i)) =
            hiptool_device::make_unit(nan, nan, nan, nan);
      }
      words.load(part, turns.has_row(), turns.row());
      continue;
    }
#pragma unroll
    for (unsigned i = 0; i < Part::pieces; ++i) {
      if (!part.has(i)) break;
#pragma unroll
      for (unsigned k = 0; k < 8; ++k) values[i][k] = values[i][k] * factor;
      const uint4 unit = narrow_numbers<Stored>(values[i]);
      if (has_row) *reinterpret_cast<uint4*>(to + Part::offset(i)) = unit;
      words.load_one(part, turns.has_row(), turns.row(), i);
    }
  }
}

// Divides by the width of a row: of a power of two the product has the same bits.
struct WidthOfMany {
  float count;
  float inverse;  // 0: no power of two
  __device__ explicit WidthOfMany(unsigned width)
      : count(static_cast<float>(width)),
        inverse((width & (width - 1)) == 0 ? 1 / static_cast<float>(width) : 0) {}
  __forceinline__ __device__ float mean_of(float sum) const {
    return inverse != 0 ? sum * inverse : sum / count;
  }
};

// What an element of a row becomes before it is scaled by weights.
struct Scaling {
  float mean;
  float shift;
  float scale;
  bool is_plain;  // no element comes to be infinite or NaN

  template <bool is_centred>
  __forceinline__ __device__ float apply(float x) const {
    return (is_centred ? (x - mean) - shift : x) * scale;
  }
};

template <bool is_centred, class Stored, class Part>
__forceinline__ __device__ Scaling find_scaling(const Part& part, WordsOfRow<Part>& words,
                                                const WidthOfMany& width, unsigned turn,
                                                float epsilon, float* shared) {
  float squares[Part::groups] = {};
  float firsts[Part::groups] = {};
  Scaling found = {0, 0, 0, false};
  if (is_centred) {
    float sums[Part::groups] = {};
#pragma unroll
    for (unsigned i = 0; i < Part::pieces; ++i) {
      if (!part.has(i)) break;
      float values[8];
      widen_piece<Stored>(words.at[i], values);
#pragma unroll
      for (unsigned k = 0; k < 8; ++k) {
        sums[i % Part::groups] = sums[i % Part::groups] + values[k];
      }
    }
    found.mean = width.mean_of(join_groups<Part>(sums, shared));
  }
#pragma unroll
  for (unsigned i = 0; i < Part::pieces; ++i) {
    if (!part.has(i)) break;
    float values[8];
    widen_piece<Stored>(words.at[i], values);
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned g = i % Part::groups;
      if (is_centred) {
        values[k] = values[k] - found.mean;
        firsts[g] = firsts[g] + values[k];
      }
      squares[g] = squares[g] + values[k] * values[k];
    }
  }
  if (!is_centred) forget_widened(words);
  float* const next = shared + norm_many_join_floats;
  if (is_centred) found.shift = width.mean_of(join_groups<Part>(firsts, next));
  float* const last = is_centred ? next + norm_many_join_floats : turn % 2 == 0 ? shared : next;
  const float square = width.mean_of(join_groups<Part>(squares, last));
  const float variance = square - found.shift * found.shift;
  found.scale = 1 / root(variance + epsilon);
  // Squares that are finite are of numbers below 2^64.
  found.is_plain = variance < hiptool_math::infinity<float>() && found.scale <= 0x1p63F;
  return found;
}

// What each thread needs of weights or biases in every row, in shared memory. Returns whether all
// are finite.
template <class Part, class Stored>
struct KeptWeights {
  uint4* units;

  __device__ explicit KeptWeights(unsigned operand)
      : units(hiptool_device::dynamic_shared() + norm_many_join_bytes / 16 +
              operand * Part::pieces * Part::warps * 32 + threadIdx.x / 32 % Part::warps * 32 +
              threadIdx.x % 32) {}
  static __device__ unsigned place(unsigned i) { return i * Part::warps * 32; }
  __forceinline__ __device__ bool keep(const Part& part, const Stored* from) const {
    bool is_finite = true;
#pragma unroll 1
    for (unsigned i = 0; i < Part::pieces; ++i) {
      if (!part.has(i)) break;
      const uint4 unit =
          load_unit(reinterpret_cast<const uint4*>(from + part.first + Part::offset(i)));
      const uint32_t words[4] = {unit.x, unit.y, unit.z, unit.w};
      if (find_not_finite<Stored>(words) != 0) is_finite = false;
      if (Part::row_of_block() == 0) units[place(i)] = unit;
    }
    return is_finite;
  }
  __forceinline__ __device__ void load(unsigned i, float (&values)[8]) const {
    const uint4 unit = units[place(i)];
    const uint32_t words[4] = {unit.x, unit.y, unit.z, unit.w};
    widen_piece<Stored>(words, values);
  }
};

// One element after the other, where some may be NaN.
template <bool is_centred, class Part, class Stored>
__forceinline__ __device__ void scale_slowly(const Part& part, const Scaling& scaling,
                                             const Stored* row, const Stored* weight,
                                             const Stored* bias, Stored* to) {
#pragma unroll 1
  for (unsigned i = 0; i < Part::pieces; ++i) {
    if (!part.has(i)) break;
#pragma unroll 1
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned at = part.first + Part::offset(i) + k;
      float value = scaling.template apply<is_centred>(Element<Stored>::widen(row[at])) *
                    Element<Stored>::widen(weight[at]);
      if (bias != nullptr) value = value + Element<Stored>::widen(bias[at]);
      to[at] = Element<Stored>::narrow(value);
    }
  }
}

template <class Part, bool is_centred, class Stored>
__forceinline__ __device__ void normalise_many(const Rows& all, double epsilon, const Stored* in,
                                               const Stored* weight, const Stored* bias,
                                               Stored* out) {
  auto* const shared = reinterpret_cast<float*>(hiptool_device::dynamic_shared());
  const Part part(all.width);
  const WidthOfMany width(part.width);
  Turns<Part, Stored> turns(all, in);
  WordsOfRow<Part> words;
  words.load(part, turns.has_row(), turns.row());
  const KeptWeights<Part, Stored> weights(0);
  const KeptWeights<Part, Stored> biases(1);
  bool is_finite = weights.keep(part, weight);
  if (bias != nullptr) is_finite = biases.keep(part, bias) && is_finite;
  __syncthreads();
  unsigned turn = 0;
#pragma unroll 1
  while (turns.has_more()) {
    const bool has_row = turns.has_row();
    Stored* const to = out + turns.places[1];
    const Stored* const from = turns.row();
    const Scaling scaling = find_scaling<is_centred, Stored>(part, words, width, turn,
                                                             static_cast<float>(epsilon), shared);
    ++turn;
    turns.advance();
    if (!scaling.is_plain || !is_finite) {
      if (has_row) scale_slowly<is_centred>(part, scaling, from, weight, bias, to);
      words.load(part, turns.has_row(), turns.row());
      continue;
    }
#pragma unroll
    for (unsigned i = 0; i < Part::pieces; ++i) {
      if (!part.has(i)) break;
      float values[8];
      float factors[8];
      widen_piece<Stored>(words.at[i], values);
      weights.load(i, factors);
#pragma unroll
      for (unsigned k = 0; k < 8; ++k) {
        values[k] = scaling.template apply<is_centred>(values[k]) * factors[k];
      }
      if (bias != nullptr) {
        biases.load(i, factors);
#pragma unroll
        for (unsigned k = 0; k < 8; ++k) values[k] = values[k] + factors[k];
      }
      const uint4 unit = narrow_numbers<Stored>(values);
      if (has_row) *reinterpret_cast<uint4*>(to + part.first + Part::offset(i)) = unit;
      words.load_one(part, turns.has_row(), turns.row(), i);
    }
  }
}

// Rows that fill all pieces have code of their own, without questions.
template <unsigned warps, unsigned row_pieces, class Stored>
__forceinline__ __device__ void softmax_any(const Rows& all, const Stored* in, Stored* out) {
  if (all.width == row_pieces * 256) {
    softmax_many<PartOfRow<warps, row_pieces, true>>(all, in, out);
  } else {
    softmax_many<PartOfRow<warps, row_pieces, false>>(all, in, out);
  }
}
template <unsigned warps, unsigned row_pieces, bool is_centred, class Stored>
__forceinline__ __device__ void normalise_any(const Rows& all, double epsilon, const Stored* in,
                                              const Stored* weight, const Stored* bias,
                                              Stored* out) {
  if (all.width == row_pieces * 256) {
    normalise_many<PartOfRow<warps, row_pieces, true>, is_centred>(all, epsilon, in, weight, bias,
                                                                   out);
  } else {
    normalise_many<PartOfRow<warps, row_pieces, false>, is_centred>(all, epsilon, in, weight, bias,
                                                                    out);
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS(warps, pieces, type, Stored)                                             \
  extern "C" __global__ void __launch_bounds__(128, hiptool_ops::softmax_blocks(warps, pieces))  \
      hiptool_softmax_many_##warps##_##pieces##_##type(hiptool_ops::Rows all, const Stored* in,  \
                                                       Stored* out) {                            \
    hiptool_ops::softmax_any<warps, pieces>(all, in, out);                                       \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(128, hiptool_ops::norm_blocks(warps, pieces))     \
      hiptool_rmsnorm_many_##warps##_##pieces##_##type(hiptool_ops::Rows all, double epsilon,    \
                                                       const Stored* in, const Stored* weight,   \
                                                       Stored* out) {                            \
    const Stored* const none = nullptr;                                                          \
    hiptool_ops::normalise_any<warps, pieces, false>(all, epsilon, in, weight, none, out);       \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(128, hiptool_ops::softmax_blocks(warps, pieces))  \
      hiptool_layernorm_many_##warps##_##pieces##_##type(hiptool_ops::Rows all, double epsilon,  \
                                                         const Stored* in, const Stored* weight, \
                                                         const Stored* bias, Stored* out) {      \
    hiptool_ops::normalise_any<warps, pieces, true>(all, epsilon, in, weight, bias, out);        \
  }                                                                                              \
  HIPTOOL_EXPORT(hiptool_softmax_many_##warps##_##pieces##_##type);                              \
  HIPTOOL_EXPORT(hiptool_rmsnorm_many_##warps##_##pieces##_##type);                              \
  HIPTOOL_EXPORT(hiptool_layernorm_many_##warps##_##pieces##_##type)

HIPTOOL_KERNELS(1, 8, f16, hiptool_ops::F16);
HIPTOOL_KERNELS(1, 8, bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(1, 16, f16, hiptool_ops::F16);
HIPTOOL_KERNELS(1, 16, bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(2, 16, f16, hiptool_ops::F16);
HIPTOOL_KERNELS(2, 16, bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(4, 16, f16, hiptool_ops::F16);
HIPTOOL_KERNELS(4, 16, bf16, hiptool_ops::Bf16);
