// SPDX-License-Identifier: MIT
// Products with the matrices of model files, and rows of them, in f32. hiptool_file_rows.h states
// the order of a row's sum. Several tokens at a time share what was decoded, and no token's sum
// depends on that.
#include <hip/hip_runtime.h>

#include "hiptool_faults.h"
#include "hiptool_file_rows.h"

using namespace hiptool_device;

namespace hiptool_ops {

template <unsigned rows, unsigned width>
__forceinline__ __device__ void multiply_file(const FileProduct& all, const uint8_t* weights,
                                              const uint16_t* grids, const float* x, float* out) {
  constexpr unsigned tile_rows = dot_teams * rows;
  const uint64_t row_tiles = (all.matrix.rows + tile_rows - 1) / tile_rows;
  const uint64_t token_tiles = (all.tokens + width - 1) / width;
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < row_tiles * token_tiles; work += gridDim.x) {
    Tile<rows, width> tile(work / token_tiles * tile_rows, work % token_tiles * width);
    tile.add(all, weights, x, LoadRows<rows>{all.matrix, grids});
    tile.finish(all, out);
    if (work + gridDim.x < row_tiles * token_tiles) __syncthreads();
  }
}

struct LoadPiece {
  const FileMatrix& matrix;
  const uint8_t* line;
  const uint16_t* grids;
  uint64_t k;
  float* four;
  template <class Row>
  __forceinline__ __device__ void operator()(Row) const {
    Row::load(matrix, line, grids, k, four);
  }
};

// One id for each row of the output; one that is the largest of its type chooses nothing.
__forceinline__ __device__ void copy_rows(const EmbeddingRows& all, const uint8_t* weights,
                                          const uint16_t* grids, const uint32_t* ids, float* out) {
  const FileMatrix& matrix = all.matrix;
  const uint64_t pieces = (matrix.columns + 3) / 4;
  for (uint64_t unit = first_unit(); unit < all.count * pieces; unit += unit_stride()) {
    const uint64_t place = unit / pieces;
    const uint64_t k = unit % pieces * 4;
    const uint32_t id = ids[place * all.id_stride];
    float four[4] = {0, 0, 0, 0};
    if (id < matrix.rows) {
      const uint8_t* const line = weights + id * matrix.row_bytes;
      with_rows(matrix.type, LoadPiece{matrix, line, grids, k, four});
    } else if (id != 0xFFFFFFFFU) {
      record_fault(all.faults, all.owner, place, id);
    }
    float* const to = out + place * all.out_stride + k * all.out_step;
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      if (k + j < matrix.columns) to[j * all.out_step] = canonical(four[j]);
    }
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(width, rows)                                                          \
  extern "C" __global__ void __launch_bounds__(256)                                          \
      hiptool_quantised_matmul_##width(hiptool_ops::FileProduct all, const uint8_t* weights, \
                                       const uint16_t* grids, const float* x, float* out) {  \
    hiptool_ops::multiply_file<rows, width>(all, weights, grids, x, out);                    \
  }                                                                                          \
  HIPTOOL_EXPORT(hiptool_quantised_matmul_##width)

HIPTOOL_KERNEL(1, hiptool_ops::dot_rows_of_one);
HIPTOOL_KERNEL(8, hiptool_ops::dot_rows_of_many);

extern "C" __global__ void __launch_bounds__(256)
    hiptool_embedding_rows(hiptool_ops::EmbeddingRows all, const uint8_t* weights,
                           const uint16_t* grids, const uint32_t* ids, float* out) {
  hiptool_ops::copy_rows(all, weights, grids, ids, out);
}
HIPTOOL_EXPORT(hiptool_embedding_rows);
