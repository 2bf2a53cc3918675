// SPDX-License-Identifier: MIT
// Products of one vector with matrices of model files, as quantised_one.hip, for compute capability
// 9.0: each warp orders the next parts of its rows in advance, also before the kernel in front has
// ended. Rows and the vector consist of whole pieces at aligned places.
#if defined(__AMDGCN__)
#error "copies in the background are NVIDIA's"
#endif
#include <hip/hip_runtime.h>

#include "hiptool_copies.h"
#include "hiptool_ring_rows.h"
#include "hiptool_token_tiles.h"

namespace hiptool_ops {

// As StagedVector's layouts.
template <class Own>
struct RingToken : Own::Placing {
  static constexpr __device__ uint32_t place(uint32_t i, uint32_t) { return Own::token_place(i); }
  static constexpr __device__ uint32_t sum_place(uint32_t piece) { return Own::sum_place(piece); }
};

// A row of a tile.
struct RingLine {
  const uint8_t* weights;
  uint32_t row;
  uint32_t matrix;
  bool is_real;  // or after the last one, as which it is read
};

// The tiles of all matrices, one after the other; of a gate, tiles of half as many rows of both.
template <class Own>
struct RingTiles {
  static constexpr unsigned teams = 32 / Own::threads;
  static constexpr unsigned tile_rows = teams * Own::rows;
  const TokenProducts& all;
  const uint8_t* first;
  const uint8_t* second;
  const uint8_t* third;
  bool is_gated;
  uint32_t one;
  uint32_t two;
  uint32_t three;

  __device__ RingTiles(const TokenProducts& products, const uint8_t* const* from)
      : all(products), first(from[0]), second(from[1]), third(from[2]) {
    is_gated = all.gate != ProductGate::none;
    one = tiles_of(0, is_gated ? tile_rows / 2 : tile_rows);
    two = one + (!is_gated && all.count > 1 ? tiles_of(1, tile_rows) : 0);
    three = two + (all.count > 2 ? tiles_of(2, tile_rows) : 0);
  }
  __device__ uint32_t tiles_of(unsigned matrix, unsigned rows) const {
    return (static_cast<uint32_t>(all.each[matrix].matrix.rows) + rows - 1) / rows;
  }
  __forceinline__ __device__ RingLine line_of(uint32_t tile, unsigned place) const {
    const uint32_t matrix = tile < one ? 0 : tile < two ? 1 : 2;
    const uint32_t inside = tile - (matrix == 0 ? 0 : matrix == 1 ? one : two);
    RingLine line;
    line.matrix = is_gated ? place % 2 : matrix;
    line.row = is_gated ? inside * (tile_rows / 2) + place / 2 : inside * tile_rows + place;
    const auto rows = static_cast<uint32_t>(matrix == 0   ? all.each[0].matrix.rows
                                            : matrix == 1 ? all.each[1].matrix.rows
                                                          : all.each[2].matrix.rows);
    line.is_real = line.row < rows;
    const uint8_t* const from = line.matrix == 0 ? first : line.matrix == 1 ? second : third;
    line.weights = from + static_cast<uint64_t>(line.is_real ? line.row : rows - 1) *
                              static_cast<uint32_t>(all.each[0].matrix.row_bytes);
    return line;
  }
};

// Threads of a warp see what the others copied, and may overwrite what these have read.
inline __device__ void meet_warp() {
#if defined(__CUDA__) || defined(__CUDACC__)
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
#else
  hiptool_device::exchange(0, 1);
#endif
}

// The turns of a warp's tiles, one after the other: a slot is ordered again as soon as it was read.
template <class Own>
struct RingOrders {
  static constexpr unsigned copies = (Own::units + Own::threads - 1) / Own::threads;
  static constexpr unsigned turn_units = RingTiles<Own>::tile_rows * Own::slot_units;
  const RingTiles<Own>& tiles;
  const uint4* units;  // of the team's first row in the first slot
  uint32_t address;    // of the thread's first unit there
  uint32_t tile;
  uint32_t step;
  unsigned team;
  unsigned own;
  const uint8_t* lines[Own::rows] = {};
  uint32_t left = 0;  // units of the rows
  uint32_t slot = 0;

  __forceinline__ __device__ void find_lines() {
    if (tile >= tiles.three) return;
#pragma unroll
    for (unsigned r = 0; r < Own::rows; ++r) {
      lines[r] = tiles.line_of(tile, team * Own::rows + r).weights + own * 16;
    }
    left = static_cast<uint32_t>(tiles.all.each[0].matrix.row_bytes) / 16;
  }
  template <bool is_whole>
  __forceinline__ __device__ void copy(uint32_t to) const {
#pragma unroll
    for (unsigned i = 0; i < copies; ++i) {
      const unsigned unit = own + i * Own::threads;
      if (unit >= Own::units || (!is_whole && unit >= left)) break;
#pragma unroll
      for (unsigned r = 0; r < Own::rows; ++r) {
        begin_copy<false>(to + (r * Own::slot_units + i * Own::threads) * 16,
                          lines[r] + i * Own::threads * 16);
      }
    }
  }
  __forceinline__ __device__ void order_next() {
    const uint32_t to = address + slot * 16;
    if (tile < tiles.three) {
      if (left >= Own::units) {
        copy<true>(to);
      } else {
        copy<false>(to);
      }
      if (left <= Own::units) {
        tile += step;
        find_lines();
      } else {
        left -= Own::units;
#pragma unroll
        for (unsigned r = 0; r < Own::rows; ++r) lines[r] += Own::units * 16;
      }
    }
    end_stage();
    slot = slot + turn_units == Own::slots * turn_units ? 0 : slot + turn_units;
  }
  __forceinline__ __device__ void begin() {
    find_lines();
#pragma unroll 1
    for (unsigned i = 0; i < Own::slots; ++i) order_next();
  }
  __forceinline__ __device__ void take(Own* turns) {
    await_own_copies<Own::slots - 1>();
    meet_warp();
#pragma unroll
    for (unsigned r = 0; r < Own::rows; ++r) turns[r].load(units + slot + r * Own::slot_units, own);
    meet_warp();
    order_next();
  }
};

// Where the results of a thread go, and what is added to them, which is loaded in advance.
struct RingOutput {
  float* to;
  float also;
  bool has_also;

  __forceinline__ __device__ void find(const TokenProducts& all, const RingLine& line,
                                       float* const* outs, const float* added) {
    float* const out = line.matrix == 0 ? outs[0] : line.matrix == 1 ? outs[1] : outs[2];
    const uint64_t step = line.matrix == 0   ? all.each[0].out_step
                          : line.matrix == 1 ? all.each[1].out_step
                                             : all.each[2].out_step;
    to = line.is_real ? out + line.row * step : nullptr;
    has_also = added != nullptr && line.matrix == 0;
    also = has_also && line.is_real ? added[line.row * step] : 0;
  }
};

template <class Own>
__device__ constexpr bool fits(uint32_t type) {
  const RingShape shape = ring_shape(type);
  return shape.tile_rows == RingTiles<Own>::tile_rows && shape.slots == Own::slots &&
         shape.slot_units == RingOrders<Own>::turn_units && shape.token_units == Own::token_units;
}
static_assert(fits<RingRow<BlockRow<hiptool_blocks::q4_k>>>(hiptool_blocks::q4_k) &&
                  fits<RingRow<PlainRow<F16>>>(static_cast<uint32_t>(PlainType::f16)) &&
                  fits<RingRow<PlainRow<Bf16>>>(static_cast<uint32_t>(PlainType::bf16)),
              "what the host asks for");

template <class Row>
__forceinline__ __device__ void multiply_ring(const TokenProducts& all,
                                              const uint8_t* const* weights, const float* x,
                                              const float* norm_weights, const float* added,
                                              float* const* outs) {
  using Own = RingRow<Row>;
  using Orders = RingOrders<Own>;
  const unsigned warps = blockDim.x / 32;
  hiptool_device::let_next_start();
  const RingTiles<Own> tiles(all, weights);
  const unsigned warp = threadIdx.x / 32;
  const unsigned team = threadIdx.x % 32 / Own::threads;
  const unsigned own = threadIdx.x % Own::threads;
  const auto pieces = static_cast<uint32_t>(all.each[0].matrix.columns / dot_piece);
  const uint32_t turns = (pieces + ring_pieces - 1) / ring_pieces;
  uint4* const token = dynamic_shared();
  const uint32_t first_unit = turns * Own::token_units + warp * Own::slots * Orders::turn_units +
                              team * Own::rows * Own::slot_units;
  Orders orders{tiles,
                token + first_unit,
                shared_address(token) + (first_unit + Own::place(own)) * 16,
                warp * gridDim.x + blockIdx.x,
                warps * gridDim.x,
                team,
                own};
  uint32_t tile = orders.tile;
  orders.begin();
  NormScales<ring_threads> scales;
  scales.load(norm_weights, pieces);
  hiptool_device::wait_for_inputs();
  uint4* const end = token + turns * Own::token_units + warps * Own::slots * Orders::turn_units;
  StagedVector<RingToken<Own>, Own::has_sums, 0> vector{
      token, 0, 0, reinterpret_cast<float*>(token), reinterpret_cast<uint32_t*>(end)};
  stage_first(vector, x, pieces, norm_weights, all.epsilon, scales, pieces);
#pragma unroll 1
  for (; tile < tiles.three; tile += orders.step) {
    // A thread stores the result of one row.
    const bool stores = own < Own::rows && (!tiles.is_gated || (team * Own::rows + own) % 2 == 0);
    RingOutput output{nullptr, 0, false};
    if (stores) output.find(all, tiles.line_of(tile, team * Own::rows + own), outs, added);
    float sums[Own::rows][Own::sums] = {};
#pragma unroll 1
    for (uint32_t turn = 0; turn < turns; ++turn) {
      Own own_turns[Own::rows];
      orders.take(own_turns);
      const uint4* const of_turn = token + turn * Own::token_units;
      const uint32_t left = pieces - turn * ring_pieces;
      if (Own::Placing::has_places && vector.is_placed) {
        Own::template add<true>(own_turns, of_turn, own, left, sums);
      } else {
        Own::template add<false>(own_turns, of_turn, own, left, sums);
      }
    }
    float joined[Own::rows];
#pragma unroll
    for (unsigned r = 0; r < Own::rows; ++r) joined[r] = Own::join(sums[r]);
    const float partner =
        Own::rows == 2 ? joined[Own::rows - 1] : __shfl_xor(joined[0], Own::threads % 32);
    if (!stores || output.to == nullptr) continue;
    const float product = product_of(Own::rows == 2 && own == 1 ? partner : joined[0]);
    if (tiles.is_gated) {
      const float opened = all.gate == ProductGate::silu ? hiptool_math::silu(product)
                                                         : hiptool_math::gelu_tanh(product);
      *output.to = canonical(opened * product_of(partner));
    } else {
      *output.to = output.has_also ? canonical(output.also + product) : product;
    }
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(type, ...)                                                              \
  extern "C" __global__ void __launch_bounds__(512, 1) hiptool_quantised_matmul_1_ring_##type( \
      hiptool_ops::TokenProducts all, const uint8_t* first, const uint8_t* second,             \
      const uint8_t* third, const float* x, const float* norm, const float* added,             \
      float* first_out, float* second_out, float* third_out) {                                 \
    const uint8_t* const weights[] = {first, second, third};                                   \
    float* const outs[] = {first_out, second_out, third_out};                                  \
    hiptool_ops::multiply_ring<__VA_ARGS__>(all, weights, x, norm, added, outs);               \
  }                                                                                            \
  HIPTOOL_EXPORT(hiptool_quantised_matmul_1_ring_##type)

HIPTOOL_KERNEL(q4_k, hiptool_ops::BlockRow<hiptool_blocks::q4_k>);
HIPTOOL_KERNEL(f16, hiptool_ops::PlainRow<hiptool_ops::F16>);
HIPTOOL_KERNEL(bf16, hiptool_ops::PlainRow<hiptool_ops::Bf16>);
