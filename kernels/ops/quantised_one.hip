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
    load_piece<dot_piece>(x + uint64_t{place} * dot_piece, vectors[p]);
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

template <class Row>
__forceinline__ __device__ void multiply_one(const FileProduct& all, const uint8_t* weights,
                                             const uint16_t* grids, const float* x, float* out) {
  constexpr unsigned rows = dot_rows_of_one;
  constexpr unsigned pieces = dot_pieces_of_one;
  constexpr unsigned tile_rows = dot_teams * rows;
  const FileMatrix& matrix = all.matrix;
  float* const shared = reinterpret_cast<float*>(dynamic_shared());
  const unsigned team = threadIdx.x / dot_lanes;
  const unsigned lane = threadIdx.x % dot_lanes;
  const uint64_t tiles = (matrix.rows + tile_rows - 1) / tile_rows;
#pragma unroll 1
  for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const uint64_t first_row = tile * tile_rows;
    const uint8_t* lines[rows];
    float sums[rows];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      const uint64_t row = first_row + team * rows + r;
      lines[r] = weights + (row < matrix.rows ? row : matrix.rows - 1) * matrix.row_bytes;
      sums[r] = 0;
    }
    const auto count = static_cast<uint32_t>(matrix.columns / dot_piece);
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
    join_results<tile_rows>(shared, StoreResult<1>{all, first_row, 0, out});
    if (tile + gridDim.x < tiles) __syncthreads();
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(type, ...)                                                             \
  extern "C" __global__ void __launch_bounds__(256)                                           \
      hiptool_quantised_matmul_1_##type(hiptool_ops::FileProduct all, const uint8_t* weights, \
                                        const uint16_t* grids, const float* x, float* out) {  \
    hiptool_ops::multiply_one<__VA_ARGS__>(all, weights, grids, x, out);                      \
  }                                                                                           \
  HIPTOOL_EXPORT(hiptool_quantised_matmul_1_##type)

HIPTOOL_KERNEL(f32, hiptool_ops::PlainRow<float>);
HIPTOOL_KERNEL(f16, hiptool_ops::PlainRow<hiptool_ops::F16>);
HIPTOOL_KERNEL(bf16, hiptool_ops::PlainRow<hiptool_ops::Bf16>);
HIPTOOL_KERNEL(f64, hiptool_ops::PlainRow<double>);
#define HIPTOOL_QUANTISED(name, text, number, values, bytes, ...) \
  HIPTOOL_KERNEL(name, hiptool_ops::BlockRow<values, bytes, hiptool_blocks::name##_values>);
#include "hiptool_quantised.def"
