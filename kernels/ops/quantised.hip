// SPDX-License-Identifier: MIT
// Products with the matrices of model files, and rows of them, in f32, in the order of
// hiptool_file_rows.h. Several tokens at a time share what was decoded, and no token's sum depends
// on that.
#include <hip/hip_runtime.h>

#include "hiptool_faults.h"
#include "hiptool_row_tiles.h"

using namespace hiptool_device;

namespace hiptool_ops {

template <unsigned rows, unsigned width>
__forceinline__ __device__ void multiply_file(const FileProduct& all, const uint8_t* weights,
                                              const uint16_t* grids, const float* x, float* out) {
  constexpr unsigned tile_rows = dot_teams * rows;
  const uint64_t row_tiles = (all.matrix.rows + tile_rows - 1) / tile_rows;
  const uint64_t token_tiles = (all.tokens + width - 1) / width;
  if (is_idle()) return;
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < row_tiles * token_tiles; work += gridDim.x) {
    Tile<rows, width> tile(work / token_tiles * tile_rows, work % token_tiles * width);
    tile.add(all, weights, x, LoadRows<rows>{all.matrix, grids});
    tile.finish(StoreResult<width>{all, tile.first_row, tile.first_token, out});
    if (work + gridDim.x < row_tiles * token_tiles) wait_for_block();
  }
}

struct LoadValues {
  const FileMatrix& matrix;
  const uint8_t* line;
  const uint16_t* grids;
  uint32_t piece;
  RowPiece& to;
  template <class Row>
  __forceinline__ __device__ void operator()(Row) const {
    Row::load(matrix, line, grids, piece, to);
    Row::make_values(to);
  }
};

// One id for each row of the output; one that is the largest of its type chooses nothing.
__forceinline__ __device__ void copy_rows(const EmbeddingRows& all, const uint8_t* weights,
                                          const uint16_t* grids, const uint32_t* ids, float* out) {
  const FileMatrix& matrix = all.matrix;
  const uint64_t pieces = (matrix.columns + dot_piece - 1) / dot_piece;
  for (uint64_t unit = first_unit(); unit < all.count * pieces; unit += unit_stride()) {
    const uint64_t place = unit / pieces;
    const auto piece = static_cast<uint32_t>(unit % pieces);
    const uint64_t k = static_cast<uint64_t>(piece) * dot_piece;
    const uint32_t id = ids[place * all.id_stride];
    RowPiece values = {};
    if (id < matrix.rows) {
      const uint8_t* const line = weights + id * matrix.row_bytes;
      with_rows(matrix.type, LoadValues{matrix, line, grids, piece, values});
    } else if (id != 0xFFFFFFFFU) {
      record_fault(all.faults, all.owner, place, id);
    }
    float* const to = out + place * all.out_stride + k * all.out_step;
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) {
      if (k + j < matrix.columns) to[j * all.out_step] = canonical(values.numbers[j]);
    }
  }
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(256)
    hiptool_quantised_matmul_8(hiptool_ops::FileProduct all, const uint8_t* weights,
                               const uint16_t* grids, const float* x, float* out) {
  hiptool_ops::multiply_file<hiptool_ops::dot_rows_of_many, hiptool_ops::dot_tokens>(all, weights,
                                                                                     grids, x, out);
}
HIPTOOL_EXPORT(hiptool_quantised_matmul_8);

extern "C" __global__ void __launch_bounds__(256)
    hiptool_embedding_rows(hiptool_ops::EmbeddingRows all, const uint8_t* weights,
                           const uint16_t* grids, const uint32_t* ids, float* out) {
  hiptool_ops::copy_rows(all, weights, grids, ids, out);
}
HIPTOOL_EXPORT(hiptool_embedding_rows);
