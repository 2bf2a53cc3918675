// SPDX-License-Identifier: MIT
// The RMS norm in front of products of one token, with the bits of the kernels of ops/norm.hip.
#pragma once
#include "hiptool_elements.h"
#include "hiptool_rows.h"

namespace hiptool_ops {

// Runs of four elements that a thread loads before it computes with the first of them: the blocks
// of a launch wait for memory most.
constexpr unsigned norm_turns = 4;

struct TokenNorm {
  const float* weights;  // null: no norm
  float scale;

  // Four elements of the token, and the weights of these.
  __forceinline__ __device__ void apply(const float* own, float* elements) const {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) elements[k] = canonical(elements[k] * scale * own[k]);
  }
};

__forceinline__ __device__ float add_squares(float sum, const float* four) {
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) sum = sum + four[k] * four[k];
  return sum;
}

// From each thread's sum of squares, as find_norm has them.
__forceinline__ __device__ TokenNorm norm_of_sum(float sum, uint64_t width, const float* weights,
                                                 float epsilon, float* shared) {
  // For a short row each group of 32 threads has the whole sum.
  sum = width <= short_row
            ? hiptool_device::join_32<hiptool_device::Sum>(sum)
            : hiptool_device::join_block<hiptool_device::Sum, row_threads>(sum, shared);
  return {weights, 1 / __fsqrt_rn(sum / static_cast<float>(width) + epsilon)};
}

// All threads of the block call it; the row consists of whole pieces of four. `shared` has memory
// for a value of each group of 32 threads, free again afterwards.
__forceinline__ __device__ TokenNorm find_norm(const float* x, uint64_t width, const float* weights,
                                               float epsilon, float* shared) {
  if (weights == nullptr) return {nullptr, 1};
  const unsigned group = width <= short_row ? 32U : unsigned{row_threads};
  const uint64_t step = static_cast<uint64_t>(group) * 4;
  float sum = 0;
#pragma unroll 1
  for (uint64_t first = threadIdx.x % static_cast<uint64_t>(group) * 4; first < width;
       first += norm_turns * step) {
    float runs[norm_turns][4];
#pragma unroll
    for (unsigned turn = 0; turn < norm_turns; ++turn) {
      if (first + turn * step >= width) break;
      load_piece<4>(x + (first + turn * step), runs[turn]);
    }
#pragma unroll
    for (unsigned turn = 0; turn < norm_turns; ++turn) {
      if (first + turn * step >= width) break;
      sum = add_squares(sum, runs[turn]);
    }
  }
  return norm_of_sum(sum, width, weights, epsilon, shared);
}

}  // namespace hiptool_ops
