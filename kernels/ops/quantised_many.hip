// SPDX-License-Identifier: MIT
// Products of many tokens with the matrices of model files, in f32, in the order of
// hiptool_file_rows.h: a block computes 128 rows of 64 tokens, one lane of that order after the
// other, and keeps sums that wait for others in shared memory. Eight warps multiply; four decode
// pieces with even numbers, and four those with odd ones, so that each has the time of two
// multiplications. The host launches it only where a block may have that much shared memory.
#if defined(__AMDGCN__)
#error "blocks of AMD's GPUs have less shared memory"
#endif
#include <hip/hip_runtime.h>

#include "hiptool_file_rows.h"

using namespace hiptool_device;

namespace hiptool_ops {

constexpr unsigned row_pitch = many_rows + 4;  // floats; keeps writes out of each other's banks
constexpr unsigned token_pitch = many_tokens + 4;
constexpr unsigned row_side = 8;  // of a thread's results
constexpr unsigned token_side = 4;
constexpr unsigned level_units = row_side * many_multipliers;

// The pieces of a row in the order in which they are added: lane after lane, and lanes in the order
// in which the tree of their sums joins them, those that are 32 apart first.
struct PieceOrder {
  uint32_t pieces;
  uint32_t turn;  // of the lane
  uint32_t piece;

  __device__ explicit PieceOrder(uint32_t count) : pieces(count), turn(0), piece(0) { skip(); }
  __device__ bool has_piece() const { return turn < dot_lanes; }
  __device__ void step() {
    piece += dot_lanes;
    skip();
  }

 private:
  // To the first lane that has the piece, or that has any.
  __device__ void skip() {
#pragma unroll 1
    while (piece >= pieces && turn < dot_lanes) piece = lane_at(++turn);
  }
  static __device__ uint32_t lane_at(uint32_t turn) {
    uint32_t lane = 0;
#pragma unroll
    for (uint32_t bit = 1; bit < dot_lanes; bit *= 2) lane = lane * 2 + (turn / bit & 1U);
    return lane;
  }
};

// One piece of all rows and tokens of a tile, by columns.
struct PieceBuffer {
  float of_rows[dot_piece][row_pitch];
  float of_tokens[dot_piece][token_pitch];
  float steps[many_rows];
  float minima[many_rows];
  float sums[many_tokens];  // of x
};
static_assert(many_levels * level_units * 16 + 2 * sizeof(PieceBuffer) == many_shared_bytes,
              "the host knows the size");

// Buffers go from those who fill them to those who multiply, and back: each has a barrier for
// either way, at which one side arrives and the other one waits. Of piece `turn` of a block's
// tiles.
struct Handover {
#if defined(__CUDA__) || defined(__CUDACC__)
  static __forceinline__ __device__ void wait_until_filled(uint32_t turn) { wait(1 + turn % 2); }
  static __forceinline__ __device__ void make_filled(uint32_t turn) { arrive(1 + turn % 2); }
  static __forceinline__ __device__ void wait_until_empty(uint32_t turn) {
    if (turn >= 2) wait(3 + turn % 2);
  }
  static __forceinline__ __device__ void make_empty(uint32_t turn) { arrive(3 + turn % 2); }
  // What the others hand over.
  static __forceinline__ __device__ void pass() {}

 private:
  static constexpr unsigned threads = unsigned{many_multipliers} + unsigned{many_decoders};
  static __forceinline__ __device__ void arrive(unsigned barrier) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(threads) : "memory");
  }
  static __forceinline__ __device__ void wait(unsigned barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(threads) : "memory");
  }
#else
  // On the processor all threads meet twice for each piece.
  static void wait_until_filled(uint32_t) { pass(); }
  static void make_filled(uint32_t) { pass(); }
  static void wait_until_empty(uint32_t) {}
  static void make_empty(uint32_t) { pass(); }
  static void pass() { __syncthreads(0); }
#endif
};

struct LoadOnePiece {
  const FileMatrix& matrix;
  const uint8_t* line;
  const uint16_t* grids;
  uint32_t piece;
  RowPiece& to;
  template <class Row>
  __forceinline__ __device__ void operator()(Row) const {
    Row::load(matrix, line, grids, piece, to);
  }
};

// A thread that decodes one row and loads a quarter of two tokens' pieces.
struct Decoder {
  enum : unsigned { tokens = 2, step = many_tokens / tokens, quarter = dot_piece / 4 };
  const FileProduct& all;
  const uint16_t* grids;
  unsigned thread;
  PieceRule rule;
  const uint8_t* line;
  const float* x[tokens];

  __device__ Decoder(const FileProduct& product, const uint8_t* weights, const uint16_t* grid,
                     const float* vectors, PieceRule of_type, uint64_t first_row,
                     uint64_t first_token)
      : all(product), grids(grid), thread(threadIdx.x % many_decoders), rule(of_type) {
    const uint64_t row = first_row + thread;
    line = weights + (row < all.matrix.rows ? row : all.matrix.rows - 1) * all.matrix.row_bytes;
#pragma unroll
    for (unsigned t = 0; t < tokens; ++t) {
      const uint64_t token = first_token + thread / 4 + t * step;
      x[t] = vectors + (token < all.tokens ? token : all.tokens - 1) * all.x_stride;
    }
  }

  __forceinline__ __device__ void fill(uint32_t piece, PieceBuffer& to, uint32_t turn) const {
    const unsigned first = thread % 4 * quarter;
    const uint64_t k = static_cast<uint64_t>(piece) * dot_piece + first;
    float of_tokens[tokens][quarter];
#pragma unroll
    for (unsigned t = 0; t < tokens; ++t) {
      if (all.x_pieces != 0) {
        load_piece<quarter>(x[t] + k, of_tokens[t]);
      } else {
        // -0 past the end, so that the product with 0 changes no sum.
#pragma unroll
        for (unsigned j = 0; j < quarter; ++j) {
          of_tokens[t][j] = k + j < all.matrix.columns ? x[t][k + j] : -0.0F;
        }
      }
    }
    RowPiece own;
    with_rows(all.matrix.type, LoadOnePiece{all.matrix, line, grids, piece, own});
    float sums[tokens];
#pragma unroll
    for (unsigned t = 0; t < tokens; ++t) sums[t] = sum_of_four(of_tokens[t]);
    if (rule.has_minimum) hiptool_device::add_across<2, 1>(sums);
    Handover::wait_until_empty(turn);
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) to.of_rows[j][thread] = own.numbers[j];
    if (rule.has_scale) to.steps[thread] = own.scale.step;
    if (rule.has_minimum) to.minima[thread] = own.scale.minimum;
#pragma unroll
    for (unsigned t = 0; t < tokens; ++t) {
      if (rule.has_minimum && first == 0) to.sums[thread / 4 + t * step] = sums[t];
#pragma unroll
      for (unsigned j = 0; j < quarter; ++j) {
        to.of_tokens[first + j][thread / 4 + t * step] = of_tokens[t][j];
      }
    }
    Handover::make_filled(turn);
  }
};

inline __device__ void read_four(const float* from, float* to) {
  read_unit(*reinterpret_cast<const uint4*>(from), to);
}

// A thread that multiplies eight rows by four tokens: four of each 64 rows, and 16 x 16 threads of
// which a warp takes 4 x 8.
struct Multiplier {
  unsigned row;
  unsigned token;
  PieceRule rule;
  float sum[row_side][token_side];    // of the lane; of plain types nothing
  float added[row_side][token_side];  // of the piece; of plain types of the lane

  __device__ explicit Multiplier(PieceRule of_type) : rule(of_type) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    row = 4 * (warp / 2 * 4 + lane / 16 * 2 + lane % 2);
    token = token_side * (warp % 2 * 8 + lane / 2 % 8);
    clear(sum);
    clear(added);
  }

  static __forceinline__ __device__ void clear(float (&results)[row_side][token_side]) {
#pragma unroll
    for (unsigned i = 0; i < row_side; ++i) {
#pragma unroll
      for (unsigned j = 0; j < token_side; ++j) results[i][j] = 0;
    }
  }

  __forceinline__ __device__ void add(const PieceBuffer& from) {
#pragma unroll
    for (unsigned k = 0; k < dot_piece; ++k) {
      float of_rows[row_side];
      float of_tokens[token_side];
      read_four(&from.of_rows[k][row], of_rows);
      read_four(&from.of_rows[k][row + many_rows / 2], of_rows + 4);
      read_four(&from.of_tokens[k][token], of_tokens);
      // Back and there, so that each product shares a factor with the one before; with the other
      // way round more of them have registers that share a bank.
#pragma unroll
      for (unsigned i = 0; i < row_side; ++i) {
#pragma unroll
        for (unsigned n = 0; n < token_side; ++n) {
          const unsigned j = i % 2 == 0 ? token_side - 1 - n : n;
          added[i][j] = __fmaf_rn(of_rows[i], of_tokens[j], added[i][j]);
        }
      }
      end_step();
    }
    end_products();
    if (rule.has_scale) end_all(from);
  }
  // As end_piece() has it, of all results.
  __forceinline__ __device__ void end_all(const PieceBuffer& from) {
    float steps[row_side];
    read_four(from.steps + row, steps);
    read_four(from.steps + row + many_rows / 2, steps + 4);
#pragma unroll
    for (unsigned i = 0; i < row_side; ++i) {
#pragma unroll
      for (unsigned j = 0; j < token_side; ++j) {
        sum[i][j] = __fmaf_rn(steps[i], added[i][j], sum[i][j]);
      }
    }
    clear(added);
    if (!rule.has_minimum) return;
    float minima[row_side];
    float of_x[token_side];
    read_four(from.minima + row, minima);
    read_four(from.minima + row + many_rows / 2, minima + 4);
    read_four(from.sums + token, of_x);
#pragma unroll
    for (unsigned i = 0; i < row_side; ++i) {
#pragma unroll
      for (unsigned j = 0; j < token_side; ++j) {
        sum[i][j] = __fmaf_rn(-minima[i], of_x[j], sum[i][j]);
      }
    }
  }

  // LLVM moves the loads of all unrolled steps in front of the first one, and products after later
  // branches, where there are too few registers for all the numbers.
  static __forceinline__ __device__ void end_step() {
#if defined(__clang__) && defined(__NVPTX__)
    asm volatile("" ::: "memory");
#endif
  }
  __forceinline__ __device__ void end_products() {
#if defined(__clang__) && defined(__NVPTX__)
#pragma unroll
    for (unsigned i = 0; i < row_side; ++i) {
      asm volatile("" : "+f"(added[i][0]), "+f"(added[i][1]), "+f"(added[i][2]), "+f"(added[i][3]));
    }
#endif
  }

  // The sums of a lane are complete: adds to them those that wait for them, of 1, 2, 4.. lanes, and
  // keeps the result, which waits for the next ones, but for the last lane.
  __forceinline__ __device__ void end_lane(uint32_t turn, uint4* waiting) {
    uint4* at = waiting + threadIdx.x;
    if (!rule.has_scale) take_added();
#pragma unroll 1
    for (uint32_t rest = turn; rest % 2 != 0; rest /= 2) {
#pragma unroll
      for (unsigned i = 0; i < row_side; ++i) {
        float before[token_side];
        read_unit(at[i * many_multipliers], before);
#pragma unroll
        for (unsigned j = 0; j < token_side; ++j) sum[i][j] = before[j] + sum[i][j];
      }
      at += level_units;
    }
    if (turn + 1 == dot_lanes) return;
#pragma unroll
    for (unsigned i = 0; i < row_side; ++i) at[i * many_multipliers] = make_unit(sum[i]);
    clear(sum);
  }
  __forceinline__ __device__ void take_added() {
#pragma unroll
    for (unsigned i = 0; i < row_side; ++i) {
#pragma unroll
      for (unsigned j = 0; j < token_side; ++j) sum[i][j] = added[i][j];
    }
    clear(added);
  }

  __forceinline__ __device__ void store(const FileProduct& all, uint64_t first_row,
                                        uint64_t first_token, float* out) {
    // The other half of the sums moves to the front, so that there is one copy of the code.
#pragma unroll 1
    for (unsigned half = 0; half < many_rows; half += many_rows / 2) {
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const uint64_t own_row = first_row + row + half + i;
#pragma unroll
        for (unsigned j = 0; j < token_side; ++j) {
          const uint64_t own_token = first_token + token + j;
          if (own_row < all.matrix.rows && own_token < all.tokens) {
            out[own_token * all.out_stride + own_row * all.out_step] = product_of(sum[i][j]);
          }
          sum[i][j] = sum[i + 4][j];
        }
      }
    }
  }
};

// The pieces of a tile, of which the first one is piece `turn` of the block's. A thread decodes
// every second of these.
__forceinline__ __device__ void decode_tile(uint32_t pieces, const Decoder& decoder,
                                            PieceBuffer* buffers, uint32_t turn) {
  const unsigned own = threadIdx.x / many_decoders % 2;
  PieceOrder order(pieces);
#pragma unroll 1
  for (; order.has_piece(); order.step(), ++turn) {
    if (turn % 2 == own) {
      decoder.fill(order.piece, buffers[turn % 2], turn);
    } else {
      Handover::pass();
    }
    Handover::pass();
  }
}

__forceinline__ __device__ void multiply_tile(uint32_t pieces, Multiplier& multiplier,
                                              const PieceBuffer* buffers, uint4* waiting,
                                              uint32_t turn) {
  PieceOrder order(pieces);
#pragma unroll 1
  for (; order.has_piece(); ++turn) {
    Handover::wait_until_filled(turn);
    multiplier.add(buffers[turn % 2]);
    Handover::make_empty(turn);
    const uint32_t lane = order.turn;
    order.step();
    // The sums of lanes without pieces are 0.
#pragma unroll 1
    for (uint32_t ended = lane; ended < order.turn; ++ended) multiplier.end_lane(ended, waiting);
  }
}

__forceinline__ __device__ void multiply_many(const FileProduct& all, const uint8_t* weights,
                                              const uint16_t* grids, const float* x, float* out) {
  const uint64_t row_tiles = (all.matrix.rows + many_rows - 1) / many_rows;
  const uint64_t token_tiles = (all.tokens + many_tokens - 1) / many_tokens;
  const auto pieces = static_cast<uint32_t>((all.matrix.columns + dot_piece - 1) / dot_piece);
  const PieceRule rule = rule_of_type(all.matrix.type);
  uint4* const waiting = dynamic_shared();
  auto* const buffers = reinterpret_cast<PieceBuffer*>(waiting + many_levels * level_units);
  uint32_t turn = 0;
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < row_tiles * token_tiles; work += gridDim.x) {
    const uint64_t first_row = work / token_tiles * many_rows;
    const uint64_t first_token = work % token_tiles * many_tokens;
    if (threadIdx.x < many_multipliers) {
      Multiplier multiplier(rule);
      multiply_tile(pieces, multiplier, buffers, waiting, turn);
      multiplier.store(all, first_row, first_token, out);
    } else {
      decode_tile(pieces, Decoder(all, weights, grids, x, rule, first_row, first_token), buffers,
                  turn);
    }
    turn += pieces;
  }
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(512, 1)
    hiptool_quantised_matmul_64(hiptool_ops::FileProduct all, const uint8_t* weights,
                                const uint16_t* grids, const float* x, float* out) {
  hiptool_ops::multiply_many(all, weights, grids, x, out);
}
HIPTOOL_EXPORT(hiptool_quantised_matmul_64);
