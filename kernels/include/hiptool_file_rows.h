// SPDX-License-Identifier: MIT
// Rows of the matrices of model files as f32, and their products with vectors. The order of a row's
// sum depends on the number of columns only: piece p of four columns belongs to lane p % 128, each
// lane adds its elements in their order by fused multiply-add, and one tree joins the lanes (those
// that are 64, 32, 16, .. apart).
#pragma once
#include "hiptool_blocks.h"
#include "hiptool_elements.h"
#include "hiptool_layers.h"

namespace hiptool_ops {

using namespace hiptool_device;

// Four neighbouring elements of a row, as f32; those behind its end are 0.
template <unsigned values, unsigned bytes,
          void (*four_values)(const hiptool_blocks::Place&, float*)>
struct BlockRow {
  static __forceinline__ __device__ void load(const FileMatrix&, const uint8_t* row,
                                              const uint16_t* grids, uint64_t k, float* four) {
    four_values({row + k / values * bytes, grids, static_cast<uint32_t>(k % values)}, four);
  }
};

inline __device__ float to_single(float value) { return value; }
inline __device__ float to_single(double value) { return static_cast<float>(value); }

template <class Stored>
struct PlainRow {
  static __forceinline__ __device__ void load(const FileMatrix& matrix, const uint8_t* row,
                                              const uint16_t*, uint64_t k, float* four) {
    const Stored* const from = reinterpret_cast<const Stored*>(row) + k;
    Stored piece[4];
    if (matrix.has_pieces != 0) {
      load_piece<4>(from, piece);
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) four[j] = to_single(Element<Stored>::widen(piece[j]));
      return;
    }
    const uint64_t rest = matrix.columns - k;
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      four[j] = j < rest ? to_single(Element<Stored>::widen(from[j])) : 0;
    }
  }
};

// Calls body with the type of rows that has that number; nothing for others.
template <class Body>
__forceinline__ __device__ void with_rows(uint32_t type, Body body) {
  switch (type) {
#define HIPTOOL_QUANTISED(name, text, number, values, bytes, ...)   \
  case hiptool_blocks::name:                                        \
    body(BlockRow<values, bytes, hiptool_blocks::name##_values>()); \
    break;
#include "hiptool_quantised.def"
    case static_cast<uint32_t>(PlainType::f32): body(PlainRow<float>()); break;
    case static_cast<uint32_t>(PlainType::f16): body(PlainRow<F16>()); break;
    case static_cast<uint32_t>(PlainType::bf16): body(PlainRow<Bf16>()); break;
    case static_cast<uint32_t>(PlainType::f64): body(PlainRow<double>()); break;
    default: break;
  }
}

// Four elements of x; -0 behind the end, so that the product with 0 changes no sum.
inline __device__ void load_x(const FileProduct& all, const float* from, uint64_t rest,
                              float* four) {
  if (all.x_pieces != 0) {
    load_piece<4>(from, four);
    return;
  }
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) four[j] = j < rest ? from[j] : -0.0F;
}

inline __device__ float join_lanes(const float* sums) {
  float joined[32];
#pragma unroll
  for (unsigned i = 0; i < 32; ++i) {
    joined[i] = (sums[i] + sums[i + 64]) + (sums[i + 32] + sums[i + 96]);
  }
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) {
#pragma unroll
    for (unsigned i = 0; i < distance; ++i) joined[i] = joined[i] + joined[i + distance];
  }
  return joined[0];
}

// Rows and tokens of one half of a block.
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
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
#pragma unroll
      for (unsigned w = 0; w < width; ++w) sums[r][w] = 0;
    }
  }

  // Calls load(lines, k, numbers) for each piece of this lane.
  template <class Load>
  __forceinline__ __device__ void add(const FileProduct& all, const uint8_t* weights,
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
#pragma unroll 1
    for (uint64_t k = lane * 4; k < matrix.columns; k += dot_lanes * 4) {
      float numbers[rows][4];
      load(lines, k, numbers);
#pragma unroll
      for (unsigned w = 0; w < width; ++w) {
        if (width > 1 && w >= left) break;
        float vector[4];
        load_x(all, tokens + w * all.x_stride + k, matrix.columns - k, vector);
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
#pragma unroll
          for (unsigned r = 0; r < rows; ++r) {
            sums[r][w] = __fmaf_rn(numbers[r][j], vector[j], sums[r][w]);
          }
        }
      }
    }
  }

  // Joins the lanes: one thread for each result.
  __forceinline__ __device__ void finish(const FileProduct& all, float* out) const {
    float* const shared = reinterpret_cast<float*>(dynamic_shared());
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
#pragma unroll
      for (unsigned w = 0; w < width; ++w) {
        shared[((team * rows + r) * width + w) * dot_pitch + lane] = sums[r][w];
      }
    }
    __syncthreads();
    const unsigned result = threadIdx.x;
    const uint64_t row = first_row + result / width;
    const uint64_t token = first_token + result % width;
    if (result < dot_teams * rows * width && row < all.matrix.rows && token < all.tokens) {
      out[token * all.out_stride + row * all.out_step] =
          canonical(join_lanes(shared + result * dot_pitch));
    }
  }
};

// Of all rows of a tile the pieces at k. Functors, because compilers do not inline lambdas that are
// called for every type.
template <unsigned rows>
struct LoadRows {
  const FileMatrix& matrix;
  const uint16_t* grids;

  struct Piece {
    const LoadRows& all;
    const uint8_t* const* lines;
    uint64_t k;
    float (*numbers)[4];
    template <class Row>
    __forceinline__ __device__ void operator()(Row) const {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        Row::load(all.matrix, lines[r], all.grids, k, numbers[r]);
      }
    }
  };
  __forceinline__ __device__ void operator()(const uint8_t* const* lines, uint64_t k,
                                             float (*numbers)[4]) const {
    with_rows(matrix.type, Piece{*this, lines, k, numbers});
  }
};

}  // namespace hiptool_ops
