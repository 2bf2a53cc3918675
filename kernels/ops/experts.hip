// SPDX-License-Identifier: MIT
// A mixture of experts in f32. The result of a token depends on that token only:
// * its experts are those with the highest scores, of equal ones (-0 equals 0) those with the lower
//   number, in that order; NaN is the highest score;
// * a weight is e^(score - highest score) over the sum of these terms, which is added in the order
//   of the used experts, or of all;
// * products are computed as in hiptool_file_rows.h, plus the bias;
// * a token's results are added in the order of its experts by fused multiply-add.
#include <hip/hip_runtime.h>

#include "hiptool_experts.h"
#include "hiptool_math.h"
#include "hiptool_row_tiles.h"

using namespace hiptool_device;

namespace hiptool_ops {

// Ascends with the score.
inline __device__ uint32_t order_of_score(float score) {
  if (score != score) return 0xFFFFFFFFU;
  const uint32_t bits = __float_as_uint(score + 0.0F);  // -0 becomes 0
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
}

// Shared memory: the token's scores, and the scores of its experts.
inline __device__ void route(const Routing& all, const float* scores, uint32_t* ids,
                             float* weights) {
  float* const own = reinterpret_cast<float*>(dynamic_shared());
  float* const chosen = own + all.experts;
#pragma unroll 1
  for (uint64_t token = blockIdx.x; token < all.tokens; token += gridDim.x) {
    if (token != blockIdx.x) __syncthreads();
    for (unsigned expert = threadIdx.x; expert < all.experts; expert += layer_threads) {
      own[expert] = scores[token * all.score_stride + expert];
    }
    __syncthreads();
    for (unsigned expert = threadIdx.x; expert < all.experts; expert += layer_threads) {
      const uint32_t order = order_of_score(own[expert]);
      unsigned place = 0;
      for (unsigned other = 0; other < all.experts; ++other) {
        const uint32_t its = order_of_score(own[other]);
        if (its > order || (its == order && other < expert)) ++place;
      }
      if (place < all.used) {
        chosen[place] = own[expert];
        ids[token * all.used + place] = expert;
      }
    }
    __syncthreads();
    const float highest = chosen[0];
    const float* const terms = all.is_normalised != 0 ? chosen : own;
    const unsigned count = all.is_normalised != 0 ? all.used : all.experts;
    for (unsigned place = threadIdx.x; place < all.used; place += layer_threads) {
      float sum = 0;
      for (unsigned i = 0; i < count; ++i) {
        sum = sum + hiptool_math::exponential(terms[i] - highest);
      }
      weights[token * all.used + place] =
          canonical(hiptool_math::exponential(chosen[place] - highest) / sum);
    }
  }
}

// One piece of all rows of a tile, where codes and exponents are apart.
template <unsigned rows>
struct LoadSplitRows {
  const uint8_t* codes;
  const uint8_t* scales;

  static __forceinline__ __device__ PieceRule rule() { return {true, false}; }
  __forceinline__ __device__ void operator()(const uint8_t* const* lines, uint32_t piece,
                                             RowPiece* to) const {
    constexpr uint64_t block_bytes = 16;
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      const uint8_t* const pairs = lines[r] + static_cast<uint64_t>(piece) * (dot_piece / 2);
      const uint64_t block = static_cast<uint64_t>(pairs - codes) / block_bytes;
      to[r].scale = {hiptool_blocks::half_of_exponent(scales[block]), 0};
#pragma unroll
      for (unsigned j = 0; j < dot_piece; j += 4) {
        const uint8_t* const pair = pairs + j / 2;
        const uint32_t word = pair[0] | static_cast<uint32_t>(pair[1]) << 16;
        hiptool_blocks::fp4_numbers((word & 0x000F000FU) | (word & 0x00F000F0U) << 4,
                                    to[r].numbers + j);
      }
    }
  }
};

struct StoreWithBias {
  uint64_t rows;
  uint64_t first_row;
  const float* bias;  // of row 0; null: none
  uint64_t bias_step;
  float* out;
  __forceinline__ __device__ void operator()(unsigned result, float sum) const {
    const uint64_t row = first_row + result;
    if (row >= rows) return;
    const float product = product_of(sum);
    out[row] = bias == nullptr ? product : canonical(product + bias[row * bias_step]);
  }
};

// One slot is one token of FileProduct. Inlined, so that a copy of the kernel for processors with
// multiply-adds has them in its loops.
__forceinline__ __device__ void multiply_experts(const ExpertProduct& all,
                                                 const ExpertMatrix* experts, const uint16_t* grids,
                                                 const uint32_t* ids, const float* x,
                                                 const float* bias, float* out) {
  constexpr unsigned tile_rows = dot_teams * dot_rows_of_one;
  const uint64_t row_tiles = (all.rows + tile_rows - 1) / tile_rows;
  if (is_idle()) return;
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < row_tiles * all.slots; work += gridDim.x) {
    const uint64_t slot = work % all.slots;
    const uint32_t id = ids[slot];
    if (work != blockIdx.x) wait_for_block();
    if (id >= all.experts) continue;
    const ExpertMatrix expert = experts[id];
    const uint64_t first_row = work / all.slots * tile_rows;
    FileProduct one;
    one.matrix = {all.rows, all.columns, expert.row_bytes, expert.type, expert.has_pieces};
    one.tokens = 1;
    one.x_stride = all.x_stride;
    one.out_stride = all.out_stride;
    one.out_step = 1;
    one.x_pieces = all.x_pieces;
    const uint8_t* const weights = reinterpret_cast<const uint8_t*>(expert.address);
    float* const to = out + slot * all.out_stride;
    Tile<dot_rows_of_one, 1> tile(first_row, 0);
    const float* const vector = x + slot / all.slots_of_x * all.x_stride;
    if (expert.type == split_mxfp4) {
      tile.add(
          one, weights, vector,
          LoadSplitRows<dot_rows_of_one>{weights, reinterpret_cast<const uint8_t*>(expert.scales)});
    } else {
      tile.add(one, weights, vector, LoadRows<dot_rows_of_one>{one.matrix, grids});
    }
    const float* const added =
        all.has_bias != 0 ? bias + id * all.bias_stride + all.bias_first : nullptr;
    tile.finish(StoreWithBias{all.rows, first_row, added, all.bias_step, to});
  }
}

inline __device__ void gate_clamped(const ClampedGate& all, const float* gates, const float* up,
                                    float* out) {
  for (uint64_t unit = first_unit(); unit < all.count; unit += unit_stride()) {
    // NaN passes the comparisons.
    const float gate = gates[unit] > all.limit ? all.limit : gates[unit];
    float other = up[unit] > all.limit ? all.limit : up[unit];
    other = other < -all.limit ? -all.limit : other;
    out[unit] = canonical(gate * hiptool_math::sigmoid(gate * all.slope) * (other + 1.0F));
  }
}

inline __device__ void add_experts(const ExpertSum& all, const float* x, const float* weights,
                                   float* out) {
  for (uint64_t unit = first_unit(); unit < all.tokens * all.columns; unit += unit_stride()) {
    const uint64_t token = unit / all.columns;
    const uint64_t column = unit % all.columns;
    float sum = 0;
    for (uint64_t i = 0; i < all.used; ++i) {
      const uint64_t slot = token * all.used + i;
      sum = __fmaf_rn(weights[slot], x[slot * all.x_stride + column], sum);
    }
    out[token * all.out_stride + column] = canonical(sum);
  }
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(256)
    hiptool_route_experts(hiptool_ops::Routing all, const float* scores, uint32_t* ids,
                          float* weights) {
  hiptool_ops::route(all, scores, ids, weights);
}
HIPTOOL_EXPORT(hiptool_route_experts);

extern "C" __global__ void __launch_bounds__(256)
    hiptool_expert_matmul(hiptool_ops::ExpertProduct all, const hiptool_ops::ExpertMatrix* experts,
                          const uint16_t* grids, const uint32_t* ids, const float* x,
                          const float* bias, float* out) {
  hiptool_ops::multiply_experts(all, experts, grids, ids, x, bias, out);
}
HIPTOOL_EXPORT(hiptool_expert_matmul);

extern "C" __global__ void __launch_bounds__(256)
    hiptool_clamped_gate(hiptool_ops::ClampedGate all, const float* gates, const float* up,
                         float* out) {
  hiptool_ops::gate_clamped(all, gates, up, out);
}
HIPTOOL_EXPORT(hiptool_clamped_gate);

extern "C" __global__ void __launch_bounds__(256)
    hiptool_add_experts(hiptool_ops::ExpertSum all, const float* x, const float* weights,
                        float* out) {
  hiptool_ops::add_experts(all, x, weights, out);
}
HIPTOOL_EXPORT(hiptool_add_experts);
