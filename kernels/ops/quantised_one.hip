// SPDX-License-Identifier: MIT
// Products of one vector with the matrices of model files, in f32, in the order of
// hiptool_file_rows.h: a kernel for each type, so that loads of several pieces are in flight
// together. Rows and the vector consist of whole pieces at aligned places.
#include <hip/hip_runtime.h>

#include "hiptool_file_rows.h"

namespace hiptool_ops {

// Adds so many pieces of a lane, from the first on, to the sums of its rows.
template <class Row, unsigned rows, unsigned pieces>
__forceinline__ __device__ void add_pieces(const uint8_t* const* lines, const uint16_t* grids,
                                           const float* x, uint32_t first, float* sums) {
  float numbers[pieces][rows][dot_piece];
  float vectors[pieces][dot_piece];
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    const uint32_t place = first + p * dot_lanes;
    load_piece<dot_piece>(x + static_cast<uint64_t>(place) * dot_piece, vectors[p]);
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) Row::load_whole(lines[r], grids, place, numbers[p][r]);
  }
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        sums[r] = __fmaf_rn(numbers[p][r][j], vectors[p][j], sums[r]);
      }
    }
  }
}

inline __device__ uint64_t row_tiles(const FileProduct& product) {
  constexpr unsigned rows = dot_teams * dot_rows_of_one;
  return (product.matrix.rows + rows - 1) / rows;
}

// One of several matrices, and the tile of its rows.
struct OneMatrix {
  uint64_t rows;
  uint64_t row_bytes;
  uint64_t out_step;
  uint64_t tile;
  const uint8_t* weights;
  const float* added;  // null: nothing
  float* out;

  __device__ OneMatrix(const FileProduct& product, uint64_t of_tile, const uint8_t* from,
                       const float* also, float* to)
      : rows(product.matrix.rows),
        row_bytes(product.matrix.row_bytes),
        out_step(product.out_step),
        tile(of_tile),
        weights(from),
        added(also),
        out(to) {}

  // Stores what the lanes have joined.
  __forceinline__ __device__ void operator()(unsigned result, float sum) const {
    const uint64_t row = tile * (dot_teams * dot_rows_of_one) + result;
    if (row >= rows) return;
    const float product = canonical(sum);
    out[row * out_step] = added == nullptr ? product : canonical(added[row * out_step] + product);
  }
};

template <class Row>
__forceinline__ __device__ void multiply_tile(const OneMatrix& one, uint32_t count,
                                              const uint16_t* grids, const float* x) {
  constexpr unsigned rows = dot_rows_of_one;
  constexpr unsigned pieces = dot_pieces_of_one;
  float* const shared = reinterpret_cast<float*>(dynamic_shared());
  const unsigned team = threadIdx.x / dot_lanes;
  const unsigned lane = threadIdx.x % dot_lanes;
  const uint8_t* lines[rows];
  float sums[rows];
#pragma unroll
  for (unsigned r = 0; r < rows; ++r) {
    const uint64_t row = (one.tile * dot_teams + team) * rows + r;
    lines[r] = one.weights + (row < one.rows ? row : one.rows - 1) * one.row_bytes;
    sums[r] = 0;
  }
  uint32_t piece = lane;
#pragma unroll 1
  for (; piece + (pieces - 1) * dot_lanes < count; piece += pieces * dot_lanes) {
    add_pieces<Row, rows, pieces>(lines, grids, x, piece, sums);
  }
#pragma unroll 1
  for (; piece < count; piece += dot_lanes) {
    add_pieces<Row, rows, 1>(lines, grids, x, piece, sums);
  }
#pragma unroll
  for (unsigned r = 0; r < rows; ++r) shared[(team * rows + r) * dot_pitch + lane] = sums[r];
  __syncthreads();
  join_results<dot_teams * rows>(shared, one);
}

// What is added to the first product may be null.
template <class Row>
__forceinline__ __device__ void multiply_one(const TokenProducts& all,
                                             const uint8_t* const* weights, const uint16_t* grids,
                                             const float* x, const float* added,
                                             float* const* outs) {
  const auto count = static_cast<uint32_t>(all.each[0].matrix.columns / dot_piece);
  const uint64_t one = row_tiles(all.each[0]);
  const uint64_t two = one + (all.count > 1 ? row_tiles(all.each[1]) : 0);
  const uint64_t three = two + (all.count > 2 ? row_tiles(all.each[2]) : 0);
#pragma unroll 1
  for (uint64_t tile = blockIdx.x; tile < three; tile += gridDim.x) {
    const OneMatrix matrix = tile < one ? OneMatrix(all.each[0], tile, weights[0], added, outs[0])
                             : tile < two
                                 ? OneMatrix(all.each[1], tile - one, weights[1], nullptr, outs[1])
                                 : OneMatrix(all.each[2], tile - two, weights[2], nullptr, outs[2]);
    multiply_tile<Row>(matrix, count, grids, x);
    if (tile + gridDim.x < three) __syncthreads();
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(type, ...)                                                      \
  extern "C" __global__ void __launch_bounds__(256) hiptool_quantised_matmul_1_##type( \
      hiptool_ops::TokenProducts all, const uint8_t* first, const uint8_t* second,     \
      const uint8_t* third, const uint16_t* grids, const float* x, const float* added, \
      float* first_out, float* second_out, float* third_out) {                         \
    const uint8_t* const weights[] = {first, second, third};                           \
    float* const outs[] = {first_out, second_out, third_out};                          \
    hiptool_ops::multiply_one<__VA_ARGS__>(all, weights, grids, x, added, outs);       \
  }                                                                                    \
  HIPTOOL_EXPORT(hiptool_quantised_matmul_1_##type)

HIPTOOL_KERNEL(f32, hiptool_ops::PlainRow<float>);
HIPTOOL_KERNEL(f16, hiptool_ops::PlainRow<hiptool_ops::F16>);
HIPTOOL_KERNEL(bf16, hiptool_ops::PlainRow<hiptool_ops::Bf16>);
HIPTOOL_KERNEL(f64, hiptool_ops::PlainRow<double>);
#define HIPTOOL_QUANTISED(name, text, number, values, bytes, ...) \
  HIPTOOL_KERNEL(name, hiptool_ops::BlockRow<values, bytes, hiptool_blocks::name##_values>);
#include "hiptool_quantised.def"
