// SPDX-License-Identifier: MIT
// Products of many tokens with the matrices of model files, in f32, in the order of
// hiptool_file_rows.h: a block computes 128 rows of 64 tokens, one lane of that order after the
// other, and keeps sums that wait for others in shared memory. Four warps decode the next pieces
// while eight multiply. The host launches it only where a block may have that much shared memory.
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
static_assert(many_levels * level_units * 16 + 2 * dot_piece * (row_pitch + token_pitch) * 4 ==
                  many_shared_bytes,
              "the host knows the size");

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
};

struct LoadOnePiece {
  const FileMatrix& matrix;
  const uint8_t* line;
  const uint16_t* grids;
  uint32_t piece;
  float* numbers;
  template <class Row>
  __forceinline__ __device__ void operator()(Row) const {
    Row::load(matrix, line, grids, piece, numbers);
  }
};

// A thread that decodes one row and loads a quarter of two tokens' pieces.
struct Decoder {
  enum : unsigned { tokens = 2, step = many_tokens / tokens, quarter = dot_piece / 4 };
  const FileProduct& all;
  const uint16_t* grids;
  unsigned thread;
  const uint8_t* line;
  const float* x[tokens];

  __device__ Decoder(const FileProduct& product, const uint8_t* weights, const uint16_t* grid,
                     const float* vectors, uint64_t first_row, uint64_t first_token)
      : all(product), grids(grid), thread(threadIdx.x % many_decoders) {
    const uint64_t row = first_row + thread;
    line = weights + (row < all.matrix.rows ? row : all.matrix.rows - 1) * all.matrix.row_bytes;
#pragma unroll
    for (unsigned t = 0; t < tokens; ++t) {
      const uint64_t token = first_token + thread / 4 + t * step;
      x[t] = vectors + (token < all.tokens ? token : all.tokens - 1) * all.x_stride;
    }
  }

  __forceinline__ __device__ void fill(uint32_t piece, PieceBuffer& to) const {
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
    float numbers[dot_piece];
    with_rows(all.matrix.type, LoadOnePiece{all.matrix, line, grids, piece, numbers});
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) to.of_rows[j][thread] = numbers[j];
#pragma unroll
    for (unsigned t = 0; t < tokens; ++t) {
#pragma unroll
      for (unsigned j = 0; j < quarter; ++j) {
        to.of_tokens[first + j][thread / 4 + t * step] = of_tokens[t][j];
      }
    }
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
  float sum[row_side][token_side];

  __device__ Multiplier() {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    row = 4 * (warp / 2 * 4 + lane / 16 * 2 + lane % 2);
    token = token_side * (warp % 2 * 8 + lane / 2 % 8);
    clear();
  }

  __device__ void clear() {
#pragma unroll
    for (unsigned i = 0; i < row_side; ++i) {
#pragma unroll
      for (unsigned j = 0; j < token_side; ++j) sum[i][j] = 0;
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
      // There and back, so that each product shares a factor with the one before.
#pragma unroll
      for (unsigned i = 0; i < row_side; ++i) {
#pragma unroll
        for (unsigned n = 0; n < token_side; ++n) {
          const unsigned j = i % 2 == 0 ? n : token_side - 1 - n;
          sum[i][j] = __fmaf_rn(of_rows[i], of_tokens[j], sum[i][j]);
        }
      }
      end_step();
    }
    end_products();
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
      asm volatile("" : "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]), "+f"(sum[i][3]));
    }
#endif
  }

  // The sums of a lane are complete: adds to them those that wait for them, of 1, 2, 4.. lanes, and
  // keeps the result, which waits for the next ones, but for the last lane.
  __forceinline__ __device__ void end_lane(uint32_t turn, uint4* waiting) {
    uint4* at = waiting + threadIdx.x;
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
    clear();
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

// Threads of both kinds wait at the same barriers: while pieces are multiplied, the next ones are
// decoded into the other buffer.
__forceinline__ __device__ void multiply_tile(uint32_t pieces, const Decoder& decoder,
                                              Multiplier& multiplier, uint4* waiting) {
  auto* const buffers = reinterpret_cast<PieceBuffer*>(waiting + many_levels * level_units);
  const bool is_decoder = threadIdx.x >= many_multipliers;
  PieceOrder order(pieces);
#pragma unroll 1
  for (uint32_t filled = 0; filled <= pieces; ++filled) {
    if (is_decoder) {
      if (order.has_piece()) decoder.fill(order.piece, buffers[filled % 2]);
      order.step();
    } else if (filled > 0) {
      multiplier.add(buffers[(filled - 1) % 2]);
      const uint32_t turn = order.turn;
      order.step();
      // The sums of lanes without pieces are 0.
#pragma unroll 1
      for (uint32_t lane = turn; lane < order.turn; ++lane) multiplier.end_lane(lane, waiting);
    }
    __syncthreads();
  }
}

__forceinline__ __device__ void multiply_many(const FileProduct& all, const uint8_t* weights,
                                              const uint16_t* grids, const float* x, float* out) {
  const uint64_t row_tiles = (all.matrix.rows + many_rows - 1) / many_rows;
  const uint64_t token_tiles = (all.tokens + many_tokens - 1) / many_tokens;
  const auto pieces = static_cast<uint32_t>((all.matrix.columns + dot_piece - 1) / dot_piece);
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < row_tiles * token_tiles; work += gridDim.x) {
    const uint64_t first_row = work / token_tiles * many_rows;
    const uint64_t first_token = work % token_tiles * many_tokens;
    Multiplier multiplier;
    multiply_tile(pieces, Decoder(all, weights, grids, x, first_row, first_token), multiplier,
                  dynamic_shared());
    if (threadIdx.x < many_multipliers) multiplier.store(all, first_row, first_token, out);
  }
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(384, 1)
    hiptool_quantised_matmul_64(hiptool_ops::FileProduct all, const uint8_t* weights,
                                const uint16_t* grids, const float* x, float* out) {
  hiptool_ops::multiply_many(all, weights, grids, x, out);
}
HIPTOOL_EXPORT(hiptool_quantised_matmul_64);
