// SPDX-License-Identifier: MIT
// Tiles of rows and tokens that a block multiplies in the order of hiptool_file_rows.h, for all
// types in one kernel.
#pragma once
#include "hiptool_file_rows.h"

namespace hiptool_ops {

// A piece of x; -0 past the end, so that the product with 0 changes no sum.
inline __device__ void load_x(const FileProduct& all, const float* from, uint64_t rest,
                              float* numbers) {
  if (all.x_pieces != 0) {
    load_piece<dot_piece>(from, numbers);
    return;
  }
#pragma unroll
  for (unsigned j = 0; j < dot_piece; ++j) numbers[j] = j < rest ? from[j] : -0.0F;
}

template <unsigned width>
struct StoreResult {
  const FileProduct& all;
  uint64_t first_row;
  uint64_t first_token;
  float* out;
  __forceinline__ __device__ void operator()(unsigned result, float sum) const {
    const uint64_t row = first_row + result / width;
    const uint64_t token = first_token + result % width;
    if (row >= all.matrix.rows || token >= all.tokens) return;
    out[token * all.out_stride + row * all.out_step] = product_of(sum);
  }
};

// Rows and tokens of a team of a block.
template <unsigned rows, unsigned width>
struct Tile {
  uint64_t first_row;
  uint64_t first_token;
  unsigned team;
  unsigned lane;
  float sums[rows][width];

  __device__ Tile(uint64_t row, uint64_t token)
      : first_row(row),
        first_token(token),
        team(threadIdx.x / dot_lanes),
        lane(threadIdx.x % dot_lanes) {
    clear();
  }

  // Calls load(lines, piece, pieces of the rows) for each piece.
  template <class Load>
  __forceinline__ __device__ void add(const FileProduct& all, const uint8_t* weights,
                                      const float* x, Load load) {
    if constexpr (works_alone) {
      for (team = 0; team < dot_teams && first_row + team * rows < all.matrix.rows; ++team) {
        for (lane = 0; lane < dot_lanes; ++lane) {
          clear();
          add_lane(all, weights, x, load);
          keep();
        }
      }
    } else {
      add_lane(all, weights, x, load);
    }
  }

  // Joins the lanes and calls store(result, sum) for each result.
  template <class Store>
  __forceinline__ __device__ void finish(Store store) const {
    if constexpr (!works_alone) keep();
    wait_for_block();
    join_results<dot_teams * rows * width>(reinterpret_cast<const float*>(dynamic_shared()), store);
  }

 private:
  __forceinline__ __device__ void clear() {
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
#pragma unroll
      for (unsigned w = 0; w < width; ++w) sums[r][w] = 0;
    }
  }

  // All pieces of this lane.
  template <class Load>
  __forceinline__ __device__ void add_lane(const FileProduct& all, const uint8_t* weights,
                                           const float* x, Load load) {
    const FileMatrix& matrix = all.matrix;
    const uint64_t left = all.tokens - first_token;
    const uint64_t row = first_row + team * rows;
    const uint8_t* lines[rows];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      const uint64_t line = row + r < matrix.rows ? row + r : matrix.rows - 1;
      lines[r] = weights + line * matrix.row_bytes;
    }
    const float* const tokens = x + first_token * all.x_stride;
    const auto pieces = static_cast<uint32_t>((matrix.columns + dot_piece - 1) / dot_piece);
    const PieceRule rule = load.rule();
#pragma unroll 1
    for (uint32_t piece = lane; piece < pieces; piece += dot_lanes) {
      const uint64_t k = static_cast<uint64_t>(piece) * dot_piece;
      RowPiece of_rows[rows];
      load(lines, piece, of_rows);
#pragma unroll
      for (unsigned w = 0; w < width; ++w) {
        if (width > 1 && w >= left) break;
        float vector[dot_piece];
        load_x(all, tokens + w * all.x_stride + k, matrix.columns - k, vector);
        const float of_x = rule.has_minimum ? sum_of_piece(vector) : 0;
        float added[rows];
#pragma unroll
        for (unsigned r = 0; r < rows; ++r) added[r] = begin_piece(rule, sums[r][w]);
#pragma unroll
        for (unsigned j = 0; j < dot_piece; ++j) {
#pragma unroll
          for (unsigned r = 0; r < rows; ++r) {
            added[r] = __fmaf_rn(of_rows[r].numbers[j], vector[j], added[r]);
          }
        }
#pragma unroll
        for (unsigned r = 0; r < rows; ++r) {
          sums[r][w] = end_piece(rule, of_rows[r].scale, added[r], of_x, sums[r][w]);
        }
      }
    }
  }

  // The lane's sums go into shared memory.
  __forceinline__ __device__ void keep() const {
    float* const shared = reinterpret_cast<float*>(dynamic_shared());
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
#pragma unroll
      for (unsigned w = 0; w < width; ++w) {
        shared[((team * rows + r) * width + w) * dot_pitch + lane] = sums[r][w];
      }
    }
  }
};

// One piece of all rows of a tile. Functors, because compilers do not inline lambdas that are
// called for every type.
template <unsigned rows>
struct LoadRows {
  const FileMatrix& matrix;
  const uint16_t* grids;

  struct Piece {
    const LoadRows& all;
    const uint8_t* const* lines;
    uint32_t piece;
    RowPiece* to;
    template <class Row>
    __forceinline__ __device__ void operator()(Row) const {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        Row::load(all.matrix, lines[r], all.grids, piece, to[r]);
      }
    }
  };
  __forceinline__ __device__ void operator()(const uint8_t* const* lines, uint32_t piece,
                                             RowPiece* to) const {
    with_rows(matrix.type, Piece{*this, lines, piece, to});
  }
  __forceinline__ __device__ PieceRule rule() const { return rule_of_type(matrix.type); }
};

}  // namespace hiptool_ops
