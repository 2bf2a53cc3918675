// SPDX-License-Identifier: MIT
// Experts of a token by their shares, in f32. The result of a token depends on that token only:
// * a share is the sigmoid of the score, or e^(score - highest score) over the sum of these terms
//   in the order of the experts;
// * what chooses is the share plus the bias. A group is as good as its highest one, or as the sum
//   of its two highest ones. Of equal groups and experts (-0 equals 0) those with lower numbers
//   come first; NaN is the highest;
// * a weight is the share, over the sum of the used ones in their order plus 1e-20 where they are
//   normalised, times the scale.
#include <hip/hip_runtime.h>

#include "hiptool_device.h"
#include "hiptool_math.h"
#include "hiptool_shares.h"

using namespace hiptool_device;

namespace hiptool_ops {

// Ascends with the value.
inline __device__ uint32_t order_of_choice(float value) {
  if (value != value) return 0xFFFFFFFFU;
  const uint32_t bits = __float_as_uint(value + 0.0F);  // -0 becomes 0
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
}

// Numbers in front of one in descending order, of those that are open.
inline __device__ unsigned place_of(const float* values, const uint32_t* is_open, unsigned count,
                                    unsigned of_group, unsigned number) {
  const uint32_t order = order_of_choice(values[number]);
  unsigned place = 0;
  for (unsigned other = 0; other < count; ++other) {
    if (is_open != nullptr && is_open[other / of_group] == 0) continue;
    const uint32_t its = order_of_choice(values[other]);
    if (its > order || (its == order && other < number)) ++place;
  }
  return place;
}

inline __device__ float value_of_group(const float* choices, unsigned count, bool has_pairs) {
  unsigned best = 0;
  for (unsigned i = 1; i < count; ++i) {
    if (order_of_choice(choices[i]) > order_of_choice(choices[best])) best = i;
  }
  if (!has_pairs) return choices[best];
  unsigned second = best == 0 ? 1 : 0;
  for (unsigned i = second + 1; i < count; ++i) {
    if (i == best) continue;
    if (order_of_choice(choices[i]) > order_of_choice(choices[second])) second = i;
  }
  return choices[best] + choices[second];
}

// Shared memory: shares, what chooses, values of groups, whether a group is open, shares of the
// used ones.
inline __device__ void route_by_shares(const ShareRouting& all, const float* scores,
                                       const float* bias, uint32_t* ids, float* weights) {
  float* const shares = reinterpret_cast<float*>(dynamic_shared());
  float* const choices = shares + all.experts;
  float* const groups = choices + all.experts;
  uint32_t* const is_open = reinterpret_cast<uint32_t*>(groups + all.groups);
  float* const chosen = reinterpret_cast<float*>(is_open + all.groups);
  const unsigned of_group = all.experts / all.groups;
#pragma unroll 1
  for (uint64_t token = blockIdx.x; token < all.tokens; token += gridDim.x) {
    if (token != blockIdx.x) __syncthreads();
    const float* const own = scores + token * all.score_stride;
    float highest = -hiptool_math::infinity<float>();
    if (all.is_sigmoid == 0) {
      for (unsigned i = 0; i < all.experts; ++i) highest = own[i] > highest ? own[i] : highest;
    }
    for (unsigned expert = threadIdx.x; expert < all.experts; expert += layer_threads) {
      choices[expert] = all.is_sigmoid != 0 ? hiptool_math::sigmoid(own[expert])
                                            : hiptool_math::exponential(own[expert] - highest);
    }
    __syncthreads();
    float sum = 0;
    if (all.is_sigmoid == 0) {
      for (unsigned i = 0; i < all.experts; ++i) sum = sum + choices[i];
    }
    for (unsigned expert = threadIdx.x; expert < all.experts; expert += layer_threads) {
      shares[expert] = all.is_sigmoid != 0 ? choices[expert] : choices[expert] / sum;
    }
    __syncthreads();
    for (unsigned expert = threadIdx.x; expert < all.experts; expert += layer_threads) {
      choices[expert] = bias != nullptr ? shares[expert] + bias[expert] : shares[expert];
    }
    __syncthreads();
    for (unsigned group = threadIdx.x; group < all.groups; group += layer_threads) {
      groups[group] = value_of_group(choices + group * of_group, of_group, all.has_pairs != 0);
    }
    __syncthreads();
    for (unsigned group = threadIdx.x; group < all.groups; group += layer_threads) {
      const unsigned place = place_of(groups, nullptr, all.groups, 1, group);
      is_open[group] = place < all.groups_used ? 1 : 0;
    }
    __syncthreads();
    for (unsigned expert = threadIdx.x; expert < all.experts; expert += layer_threads) {
      if (is_open[expert / of_group] == 0) continue;
      const unsigned place = place_of(choices, is_open, all.experts, of_group, expert);
      if (place >= all.used) continue;
      chosen[place] = shares[expert];
      ids[token * all.used + place] = expert;
    }
    __syncthreads();
    for (unsigned place = threadIdx.x; place < all.used; place += layer_threads) {
      float of_used = 0;
      for (unsigned i = 0; i < all.used; ++i) of_used = of_used + chosen[i];
      float weight = chosen[place];
      if (all.is_normalised != 0) weight = weight / (of_used + 1e-20F);
      weights[token * all.used + place] = canonical(weight * all.scale);
    }
  }
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(256)
    hiptool_route_shares(hiptool_ops::ShareRouting all, const float* scores, const float* bias,
                         uint32_t* ids, float* weights) {
  hiptool_ops::route_by_shares(all, scores, bias, ids, weights);
}
HIPTOOL_EXPORT(hiptool_route_shares);
