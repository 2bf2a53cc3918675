// SPDX-License-Identifier: MIT
// Copies between any two layouts, by the size of an element. Where source and output are contiguous
// along different axes, tiles in shared memory make both accesses contiguous.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_moves.h"
#include "hiptool_tiles.h"

namespace hiptool_ops {

template <unsigned length, class Stored>
inline __device__ void copy_runs(const Operands<2>& all, const Stored* source, Stored* output) {
  each_place(all, length, [&](const uint64_t(&places)[2]) {
    Stored run[length];
    load_run<length>(all, 0, source, places[0], run);
    store_run<length>(all, 1, output, places[1], run);
  });
}

template <class Stored>
inline __device__ void copy_anywhere(const Operands<2>& all, const Stored* source, Stored* output) {
  if (all.run == 1) {
    copy_runs<1>(all, source, output);
  } else {
    copy_runs<Run<Stored>::length>(all, source, output);
  }
}

template <class Stored>
inline __device__ void load_tile_elements(const TiledCopy& copy, TilePart part, const Stored* from,
                                          Stored* tile) {
  using Shape = TileShape<sizeof(Stored)>;
#pragma unroll 4
  for (unsigned unit = threadIdx.x; unit < Shape::side * Shape::side; unit += tile_threads) {
    const unsigned row = unit / Shape::side;
    const unsigned column = unit % Shape::side;
    if (row >= part.source_rows || column >= part.output_rows) continue;
    tile[column * (Shape::pitch * Shape::packed) + row] = from[row * copy.source_stride + column];
  }
}

template <class Stored>
inline __device__ void store_tile_pieces(const TiledCopy& copy, TilePart part,
                                         const typename WordOf<sizeof(Stored)>::Type* words,
                                         Stored* to) {
  using Shape = TileShape<sizeof(Stored)>;
  using Word = typename WordOf<sizeof(Stored)>::Type;
  constexpr unsigned piece = Shape::piece;
  constexpr unsigned piece_words = piece / Shape::packed;
  constexpr unsigned row_pieces = Shape::side / piece;
#pragma unroll
  for (unsigned unit = threadIdx.x; unit < Shape::side * row_pieces; unit += tile_threads) {
    const unsigned row = unit / row_pieces;
    const unsigned column = unit % row_pieces * piece;
    if (row >= part.output_rows || column >= part.source_rows) continue;
    const Word* from = words + row * Shape::pitch + column / Shape::packed;
    Word values[piece_words];
#pragma unroll
    for (unsigned k = 0; k < piece_words; ++k) values[k] = from[k];
    store_piece<piece_words>(reinterpret_cast<Word*>(to + row * copy.output_stride + column),
                             values);
  }
}

template <class Stored>
inline __device__ void store_tile_elements(const TiledCopy& copy, TilePart part, const Stored* tile,
                                           Stored* to) {
  using Shape = TileShape<sizeof(Stored)>;
#pragma unroll 4
  for (unsigned unit = threadIdx.x; unit < Shape::side * Shape::side; unit += tile_threads) {
    const unsigned row = unit / Shape::side;
    const unsigned column = unit % Shape::side;
    if (row >= part.output_rows || column >= part.source_rows) continue;
    to[row * copy.output_stride + column] = tile[row * (Shape::pitch * Shape::packed) + column];
  }
}

template <class Stored>
inline __device__ void copy_tiles(const TiledCopy& copy, const Stored* source, Stored* output) {
  constexpr uint64_t side = TileShape<sizeof(Stored)>::side;
  using Word = typename WordOf<sizeof(Stored)>::Type;
  Word* const words = reinterpret_cast<Word*>(hiptool_device::dynamic_shared());
  Stored* const tile = reinterpret_cast<Stored*>(words);
  for (uint64_t i = blockIdx.x; i < copy.tiles.count; i += gridDim.x) {
    uint64_t places[4];
    find_places(copy.tiles, i, places);
    const uint64_t source_rows = copy.source_rows - places[2];
    const uint64_t output_rows = copy.output_rows - places[3];
    const TilePart part = {static_cast<unsigned>(source_rows < side ? source_rows : side),
                           static_cast<unsigned>(output_rows < side ? output_rows : side)};
    if (copy.source_pieces) {
      load_tile_pieces(copy.source_stride, part, source + places[0], words);
    } else {
      load_tile_elements(copy, part, source + places[0], tile);
    }
    __syncthreads();
    if (copy.output_pieces) {
      store_tile_pieces(copy, part, words, output + places[1]);
    } else {
      store_tile_elements(copy, part, tile, output + places[1]);
    }
    __syncthreads();
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS(size, Stored)                                                           \
  extern "C" __global__ void __launch_bounds__(256)                                             \
      hiptool_move_##size(hiptool_ops::Operands<2> all, const Stored* source, Stored* output) { \
    hiptool_ops::copy_anywhere(all, source, output);                                            \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(256) hiptool_move_tiled_##size(                  \
      hiptool_ops::TiledCopy copy, const Stored* source, Stored* output) {                      \
    hiptool_ops::copy_tiles(copy, source, output);                                              \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_move_##size);                                                          \
  HIPTOOL_EXPORT(hiptool_move_tiled_##size)

HIPTOOL_KERNELS(1, uint8_t);
HIPTOOL_KERNELS(2, uint16_t);
HIPTOOL_KERNELS(4, uint32_t);
HIPTOOL_KERNELS(8, uint64_t);
