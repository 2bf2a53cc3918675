// SPDX-License-Identifier: MIT
// Rows that a few warps hold, and their sums in the order that a block of 256 threads has.
#pragma once
#include "hiptool_halves.h"
#include "hiptool_math.h"
#include "hiptool_math_narrow.h"
#include "hiptool_norms.h"
#include "hiptool_rows.h"

namespace hiptool_ops {

// A thread's part of a row of `row_pieces` pieces for each of 32 lanes. Piece q of a lane is q * 32
// pieces after its first; norm_whole.hip adds those with the same q modulo 8 by the same threads.
template <unsigned warps_, unsigned row_pieces, bool is_full>
struct PartOfRow {
  enum : unsigned {
    warps = warps_,
    pieces = row_pieces / warps,
    groups = row_threads / 32 / warps,  // of sums
    length = 8,
    rows_of_block = norm_many_threads / 32 / warps
  };
  unsigned first;  // element of the first piece
  unsigned width;

  __device__ explicit PartOfRow(uint64_t row_width)
      : first((threadIdx.x / 32 % warps * groups * 32 + threadIdx.x % 32) * length),
        width(static_cast<unsigned>(row_width)) {}
  static __device__ unsigned row_of_block() { return threadIdx.x / 32 / warps; }
  static __device__ unsigned offset(unsigned i) {
    return (i / groups * (row_threads / 32) + i % groups) * 32 * length;
  }
  __device__ bool has(unsigned i) const { return is_full || first + offset(i) < width; }
};

template <class Stored>
__forceinline__ __device__ void widen_piece(const uint32_t (&words)[4], float (&values)[8]) {
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) {
    widen_word<Stored>(words[k], values[2 * k], values[2 * k + 1]);
  }
}

template <class Stored>
__forceinline__ __device__ void load_words(const Stored* from, uint32_t (&words)[4]) {
  const uint4 unit = load_unit(reinterpret_cast<const uint4*>(from));
  words[0] = unit.x;
  words[1] = unit.y;
  words[2] = unit.z;
  words[3] = unit.w;
}

// The row of this thread's warps. Warps without a row, in the last block, have the last one's
// elements but write no results.
template <class Part, class Stored>
struct ManyRow {
  const Rows& all;
  Part part;
  unsigned index;
  uint32_t words[Part::pieces][4];

  __forceinline__ __device__ ManyRow(const Rows& rows, const Stored* in)
      : all(rows),
        part(rows.width),
        index(blockIdx.x * Part::rows_of_block + Part::row_of_block()) {
    const uint64_t known = is_own() ? index : all.rows.count - 1;
    const Stored* const from = in + known * all.rows.strides[0][0] + part.first;
#pragma unroll
    for (unsigned i = 0; i < Part::pieces; ++i) {
      if (part.has(i)) load_words(from + Part::offset(i), words[i]);
    }
  }
  __forceinline__ __device__ bool is_own() const {
    return Part::rows_of_block == 1 || index < all.rows.count;
  }
  __forceinline__ __device__ Stored* place_of_results(Stored* out) const {
    return out + index * all.rows.strides[1][0] + part.first;
  }
};

template <class Part, class Stored>
__forceinline__ __device__ void store_words(Stored* to, unsigned i, const uint32_t (&words)[4]) {
  *reinterpret_cast<uint4*>(to + Part::offset(i)) =
      hiptool_device::make_unit(words[0], words[1], words[2], words[3]);
}

// Weights and biases, which are loaded a piece ahead: behind stores of results, which might change
// them, a compiler cannot load them early.
template <class Part, bool has_biases, class Stored>
struct Factors {
  const Stored* weight;
  const Stored* bias;
  uint32_t weights[Part::pieces][4];
  uint32_t biases[Part::pieces][4];

  __forceinline__ __device__ void load(const Part& part, unsigned i) {
    if (i >= Part::pieces || !part.has(i)) return;
    load_words(weight + part.first + Part::offset(i), weights[i]);
    if (has_biases && bias != nullptr) {
      load_words(bias + part.first + Part::offset(i), biases[i]);
    }
  }
  __forceinline__ __device__ void apply(unsigned i, float (&values)[8]) const {
    float own[8];
    widen_piece<Stored>(weights[i], own);
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) values[k] = values[k] * own[k];
    if (!has_biases || bias == nullptr) return;
    widen_piece<Stored>(biases[i], own);
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) values[k] = values[k] + own[k];
  }
};

// The largest of a thread's elements; has_nan where one of them is NaN, which does not count.
template <class Part, class Stored>
__forceinline__ __device__ float find_largest(const ManyRow<Part, Stored>& row, bool& has_nan) {
  float most = -hiptool_math::infinity<float>();
#if HIPTOOL_PAIRS
  uint32_t largest = Halves<Stored>::Format::most * 0x00010001U | 0x80008000U;
#pragma unroll
  for (unsigned i = 0; i < Part::pieces; ++i) {
    if (!row.part.has(i)) break;
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      largest = Halves<Stored>::largest_or_nan(largest, row.words[i][k]);
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
    if (!row.part.has(i)) break;
    float values[8];
    widen_piece<Stored>(row.words[i], values);
#pragma unroll
    for (const float value : values) {
      most = hiptool_narrow::at_least(value, most);
      has_nan = has_nan || value != value;
    }
  }
#endif
  return most;
}

// Sums of groups of 32 lanes, each as join_32 has it. Lanes that differ by `distance` share out the
// groups, and each joins one half of them; in the end 32 / count neighbouring lanes have one sum.
template <unsigned count, int distance>
__forceinline__ __device__ float share_out(const float (&parts)[count]) {
  if constexpr (count > 1) {
    const bool has_upper = (threadIdx.x & static_cast<unsigned>(distance)) != 0;
    float kept[count / 2];
#pragma unroll
    for (unsigned g = 0; g < count / 2; ++g) {
      // Values, not places: clang would select addresses, and keep the sums in memory.
      const float low = +parts[g];
      const float high = +parts[g + count / 2];
      kept[g] =
          (has_upper ? +high : +low) + hiptool_device::exchange(has_upper ? +low : +high, distance);
    }
    return share_out<count / 2, distance / 2>(kept);
  } else if constexpr (distance > 0) {
    const float joined[1] = {parts[0] + hiptool_device::exchange(parts[0], distance)};
    return share_out<1, distance / 2>(joined);
  } else {
    return parts[0];
  }
}

// Sums of a row from the sums of its groups, which are added in their order. Each join of a kernel
// has `shared` of its own.
template <class Part, unsigned count>
__forceinline__ __device__ void join_groups(const float (&sums)[count][Part::groups], float* shared,
                                            float (&joined)[count]) {
  constexpr unsigned lanes_of_group = 32 / Part::groups;
  constexpr unsigned all_groups = row_threads / 32;
  float* const of_row = shared + Part::row_of_block() * all_groups;
#pragma unroll
  for (unsigned s = 0; s < count; ++s) {
    const float own = share_out<Part::groups, 16>(sums[s]);
    if (threadIdx.x % lanes_of_group == 0) {
      of_row[s * norm_many_join_floats + threadIdx.x / lanes_of_group % all_groups] = own;
    }
  }
  __syncthreads();
#pragma unroll
  for (unsigned s = 0; s < count; ++s) {
    const auto* const units = reinterpret_cast<const uint4*>(of_row + s * norm_many_join_floats);
    float all[all_groups];
    hiptool_device::read_unit(units[0], all);
    hiptool_device::read_unit(units[1], all + 4);
    joined[s] = all[0];
#pragma unroll
    for (unsigned g = 1; g < all_groups; ++g) joined[s] = joined[s] + all[g];
  }
}

// The largest of a row's threads'.
template <class Part>
__forceinline__ __device__ float join_largest(float value, float* shared) {
  value = hiptool_device::join_32<Larger>(value);
  float* const own = shared + Part::row_of_block() * (row_threads / 32);
  if (threadIdx.x % 32 == 0) own[threadIdx.x / 32 % Part::warps] = value;
  __syncthreads();
  value = own[0];
#pragma unroll
  for (unsigned w = 1; w < Part::warps; ++w) value = hiptool_narrow::at_least(value, own[w]);
  return value;
}

// Divides by the width of a row: of a power of two the product has the same bits.
inline __device__ float mean_of(float sum, unsigned width) {
  const auto count = static_cast<float>(width);
  if ((width & (width - 1)) != 0) return sum / count;
  // The power of two with the opposite exponent.
  return sum * __uint_as_float(0x7F000000U - __float_as_uint(count));
}

}  // namespace hiptool_ops
