// SPDX-License-Identifier: MIT
// Attention of a token's heads to the keys before it, in f32: what its kernels share, and the order
// of addition that all of them keep. Keys are divided into segments of 256 by their position, so
// that neither the first token of a call nor the number of tokens changes the order of a sum:
// * a score is the sum of four sums, one for each remainder of the element's index by 4, each in
//   its order by fused multiply-add, joined as (0 + 1) + (2 + 3);
// * terms of a segment are e^(score - its largest score); lane i of 32 adds those of keys i, i +
//   32, .. and a tree joins the lanes;
// * an element of the output is the sum of eight sums of term times value, one for each remainder
//   of the key's position by 8, joined by a tree;
// * segments (and after them a sink) are joined one after the other, both sides scaled by e^(own -
//   common largest score).
// Trees join the sums that are half of the count apart first, then a quarter, ..
#pragma once
#include "hiptool_elements.h"
#include "hiptool_layers.h"
#include "hiptool_math.h"

namespace hiptool_ops {

// Up to four elements of a head, from `from` on; those past the end are 0.
inline __device__ void load_four(const float* from, uint64_t rest, bool has_pieces, float* four) {
  if (has_pieces) {
    load_piece<4>(from, four);
    return;
  }
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) four[j] = j < rest ? from[j] : 0;
}

// The keys that the token at that index of the call sees: from the first of these on, before the
// second.
inline __device__ uint64_t seen_end(const Attention& all, uint64_t token) {
  return all.first + token + 1;
}
inline __device__ uint64_t seen_begin(const Attention& all, uint64_t token) {
  const uint64_t end = seen_end(all, token);
  return end > all.window ? end - all.window : 0;
}

inline __device__ float larger(float a, float b) { return a < b ? b : a; }

// What is subtracted from scores: where all of them are -infinity every term is 0.
inline __device__ float shift_of(float most) {
  return most == -hiptool_math::infinity<float>() ? 0.0F : most;
}

inline __device__ float scaled_score(const float (&sums)[4], const Attention& all) {
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) * all.scale;
}
inline __device__ float capped_score(float score, const Attention& all) {
  return hiptool_math::hyperbolic_tangent(score / all.softcap) * all.softcap;
}

// What is known of a row's segments so far: the largest score, and the sum of the terms.
struct JoinedTerms {
  float most = -hiptool_math::infinity<float>();
  float sum = 0;
};

// By what results so far and those of a segment are multiplied.
struct JoinScales {
  float old_one;
  float new_one;
};

__forceinline__ __device__ JoinScales join_terms(JoinedTerms& terms, float most, float sum) {
  const float common = larger(terms.most, most);
  const JoinScales scales{hiptool_math::exponential(terms.most - shift_of(common)),
                          hiptool_math::exponential(most - shift_of(common))};
  terms.sum = __fmaf_rn(terms.sum, scales.old_one, sum * scales.new_one);
  terms.most = common;
  return scales;
}

// The scale of the results so far.
__forceinline__ __device__ float join_sink(JoinedTerms& terms, float sink) {
  const float common = larger(terms.most, sink);
  const float scale = hiptool_math::exponential(terms.most - shift_of(common));
  terms.sum = __fmaf_rn(terms.sum, scale, hiptool_math::exponential(sink - shift_of(common)));
  terms.most = common;
  return scale;
}

}  // namespace hiptool_ops
