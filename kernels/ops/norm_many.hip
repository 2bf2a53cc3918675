// SPDX-License-Identifier: MIT
// Softmax and normalisation of many f16 and bf16 rows: two warps hold a row in registers as it is
// stored, so that a multiprocessor has many rows under way at once, and what a row costs
// besides its elements (joins, divisions, places) is divided by 32 or 64 elements a thread. All
// bits are those of norm_whole.hip, in which 256 threads hold a row: each sum is kept for the
// threads that would have it there.
#include <hip/hip_runtime.h>

#include "hiptool_math.h"
#include "hiptool_math_narrow.h"
#include "hiptool_row_parts.h"

namespace hiptool_ops {

template <class Part, class Stored>
__forceinline__ __device__ void softmax_many(const Rows& all, const Stored* in, Stored* out) {
  using Format = typename Halves<Stored>::Format;
  auto* const shared = reinterpret_cast<float*>(hiptool_device::dynamic_shared());
  const ManyRow<Part, Stored> row(all, in);
  bool has_nan = false;
  const float most = join_largest<Part>(find_largest(row, has_nan), shared);
  float values[Part::pieces][8];
  float sums[1][Part::groups];
#pragma unroll
  for (float& sum : sums[0]) sum = has_nan ? hiptool_math::not_a_number<float>() : 0;
#pragma unroll
  for (unsigned i = 0; i < Part::pieces; ++i) {
    if (!row.part.has(i)) break;
    widen_piece<Stored>(row.words[i], values[i]);
#pragma unroll
    for (float& value : values[i]) {
      value = hiptool_narrow::exponential_term<Format>(value - most);
      sums[0][i % Part::groups] = sums[0][i % Part::groups] + value;
    }
  }
  float sum[1];
  join_groups<Part>(sums, shared + norm_many_join_floats, sum);
  if (!row.is_own()) return;
  Stored* const to = row.place_of_results(out);
  // Every share is NaN if the largest element is infinite: +infinity, or -infinity if all are.
  if (!(hiptool_math::absolute(most) < hiptool_math::infinity<float>() &&
        sum[0] < hiptool_math::infinity<float>())) {
    constexpr uint32_t nan = Format::nan * 0x00010001U;
#pragma unroll 1
    for (unsigned i = 0; i < Part::pieces && row.part.has(i); ++i) {
      store_words<Part>(to, i, {nan, nan, nan, nan});
    }
    return;
  }
  const float factor = hiptool_narrow::reciprocal(sum[0]);
#pragma unroll
  for (unsigned i = 0; i < Part::pieces; ++i) {
    if (!row.part.has(i)) break;
    uint32_t results[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      results[k] = Halves<Stored>::pair(values[i][2 * k] * factor, values[i][2 * k + 1] * factor);
    }
    store_words<Part>(to, i, results);
  }
}

// Gives all NaN among the results of this thread the pattern that NaN has in the type.
template <class Part, class Stored>
__forceinline__ __device__ void unify_nan(const Part& part, Stored* to) {
#pragma unroll 1
  for (unsigned i = 0; i < Part::pieces && part.has(i); ++i) {
    Stored* const results = to + Part::offset(i);
#pragma unroll 1
    for (unsigned k = 0; k < 8; ++k) {
      const float value = Element<Stored>::widen(results[k]);
      if (value != value) results[k] = Element<Stored>::narrow(value);
    }
  }
}

// Elements of a row, for normalisation centred in the second pass: kept in f32, or widened again in
// each pass, which takes half of the registers.
template <bool is_centred, bool is_kept, class Part, class Stored>
struct NormRow : ManyRow<Part, Stored> {
  float values[Part::pieces][8];
  float mean = 0;

  __forceinline__ __device__ NormRow(const Rows& all, const Stored* in)
      : ManyRow<Part, Stored>(all, in) {}
  __forceinline__ __device__ void find(unsigned i) {
    widen_piece<Stored>(this->words[i], values[i]);
  }
  __forceinline__ __device__ void centre(unsigned i) {
#pragma unroll
    for (float& value : values[i]) {
      if (is_centred) value = value - mean;
    }
  }
  __forceinline__ __device__ void find_mean(float* shared) {
    float sums[1][Part::groups] = {};
#pragma unroll
    for (unsigned i = 0; i < Part::pieces; ++i) {
      if (!this->part.has(i)) break;
      find(i);
#pragma unroll
      for (const float value : values[i]) {
        sums[0][i % Part::groups] = sums[0][i % Part::groups] + value;
      }
    }
    end_pass();
    float sum[1];
    join_groups<Part>(sums, shared, sum);
    mean = mean_of(sum[0], this->part.width);
  }
  // Hides that words are widened again: the compiler would keep what it made of them.
  __forceinline__ __device__ void end_pass() {
#if defined(__CUDA_ARCH__)
    if (is_kept) return;
#pragma unroll
    for (uint32_t(&of_piece)[4] : this->words) {
      asm("" : "+r"(of_piece[0]), "+r"(of_piece[1]), "+r"(of_piece[2]), "+r"(of_piece[3]));
    }
#endif
  }
};

template <class Part, bool is_centred, bool is_kept, class Stored>
__forceinline__ __device__ void normalise_many(const Rows& all, double epsilon, const Stored* in,
                                               const Stored* weight, const Stored* bias,
                                               Stored* out) {
  constexpr unsigned moments = is_centred ? 2 : 1;
  auto* const shared = reinterpret_cast<float*>(hiptool_device::dynamic_shared());
  NormRow<is_centred, is_kept, Part, Stored> row(all, in);
  if (is_centred) row.find_mean(shared);
  float sums[moments][Part::groups] = {};
#pragma unroll
  for (unsigned i = 0; i < Part::pieces; ++i) {
    if (!row.part.has(i)) break;
    if (!is_centred || !is_kept) row.find(i);
    row.centre(i);
#pragma unroll
    for (const float value : row.values[i]) {
      const unsigned g = i % Part::groups;
      sums[0][g] = sums[0][g] + value * value;
      if (is_centred) sums[moments - 1][g] = sums[moments - 1][g] + value;
    }
  }
  row.end_pass();
  float joined[moments];
  join_groups<Part>(sums, shared + norm_many_join_floats, joined);
  if (!row.is_own()) return;
  Factors<Part, is_centred, Stored> factors;
  factors.weight = weight;
  factors.bias = bias;
  factors.load(row.part, 0);
  const float shift = is_centred ? mean_of(joined[moments - 1], row.part.width) : 0;
  const float variance = mean_of(joined[0], row.part.width) - shift * shift;
  const float scale = 1 / root(variance + static_cast<float>(epsilon));
  Stored* const to = row.place_of_results(out);
  uint32_t marks = 0;
#pragma unroll
  for (unsigned i = 0; i < Part::pieces; ++i) {
    if (!row.part.has(i)) break;
    factors.load(row.part, i + 1);
    if (!is_kept) {
      row.find(i);
      row.centre(i);
    }
    float(&values)[8] = row.values[i];
#pragma unroll
    for (float& value : values) {
      if (is_centred) value = value - shift;
      value = value * scale;
    }
    factors.apply(i, values);
    uint32_t words[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      words[k] = Halves<Stored>::pair_with_nan(values[2 * k], values[2 * k + 1]);
      marks = note_nan<Stored>(marks, words[k]);
    }
    store_words<Part>(to, i, words);
  }
  if (has_nan<Stored>(marks)) unify_nan(row.part, to);
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
template <unsigned warps, unsigned row_pieces, bool is_centred, bool is_kept, class Stored>
__forceinline__ __device__ void normalise_any(const Rows& all, double epsilon, const Stored* in,
                                              const Stored* weight, const Stored* bias,
                                              Stored* out) {
  if (all.width == row_pieces * 256) {
    normalise_many<PartOfRow<warps, row_pieces, true>, is_centred, is_kept>(all, epsilon, in,
                                                                            weight, bias, out);
  } else {
    normalise_many<PartOfRow<warps, row_pieces, false>, is_centred, is_kept>(all, epsilon, in,
                                                                             weight, bias, out);
  }
}

}  // namespace hiptool_ops

// Last, the blocks that a multiprocessor's registers shall take at once.
#define HIPTOOL_SOFTMAX(warps, pieces, type, Stored, blocks)                                    \
  extern "C" __global__ void __launch_bounds__(128, blocks)                                     \
      hiptool_softmax_many_##warps##_##pieces##_##type(hiptool_ops::Rows all, const Stored* in, \
                                                       Stored* out) {                           \
    hiptool_ops::softmax_any<warps, pieces>(all, in, out);                                      \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_softmax_many_##warps##_##pieces##_##type)
#define HIPTOOL_RMSNORM(warps, pieces, type, Stored, blocks)                                      \
  extern "C" __global__ void __launch_bounds__(128, blocks)                                       \
      hiptool_rmsnorm_many_##warps##_##pieces##_##type(hiptool_ops::Rows all, double epsilon,     \
                                                       const Stored* in, const Stored* weight,    \
                                                       Stored* out) {                             \
    const Stored* const none = nullptr;                                                           \
    hiptool_ops::normalise_any<warps, pieces, false, false>(all, epsilon, in, weight, none, out); \
  }                                                                                               \
  HIPTOOL_EXPORT(hiptool_rmsnorm_many_##warps##_##pieces##_##type)
#define HIPTOOL_LAYERNORM(warps, pieces, type, Stored, is_kept, blocks)                            \
  extern "C" __global__ void __launch_bounds__(128, blocks)                                        \
      hiptool_layernorm_many_##warps##_##pieces##_##type(hiptool_ops::Rows all, double epsilon,    \
                                                         const Stored* in, const Stored* weight,   \
                                                         const Stored* bias, Stored* out) {        \
    hiptool_ops::normalise_any<warps, pieces, true, is_kept>(all, epsilon, in, weight, bias, out); \
  }                                                                                                \
  HIPTOOL_EXPORT(hiptool_layernorm_many_##warps##_##pieces##_##type)
#define HIPTOOL_KERNELS(type, Stored)             \
  HIPTOOL_SOFTMAX(2, 8, type, Stored, 10);        \
  HIPTOOL_SOFTMAX(2, 16, type, Stored, 6);        \
  HIPTOOL_RMSNORM(2, 8, type, Stored, 12);        \
  HIPTOOL_RMSNORM(2, 16, type, Stored, 8);        \
  HIPTOOL_LAYERNORM(2, 8, type, Stored, true, 8); \
  HIPTOOL_LAYERNORM(2, 16, type, Stored, false, 7)

HIPTOOL_KERNELS(f16, hiptool_ops::F16);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16);
