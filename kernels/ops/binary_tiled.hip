// SPDX-License-Identifier: MIT
// Elementwise operations of two tensors of which one or both are contiguous along another axis than
// the output: both go through tiles in shared memory.
#include <hip/hip_runtime.h>

#include "hiptool_binary.h"
#include "hiptool_tiles.h"

namespace hiptool_ops {

// 16 bytes of a row in shared memory.
template <class Stored>
HIPTOOL_INLINE __device__ void apply_piece(BinaryOp operation,
                                           const typename WordOf<sizeof(Stored)>::Type* a,
                                           const typename WordOf<sizeof(Stored)>::Type* b,
                                           Stored* out) {
  constexpr unsigned length = 16 / sizeof(Stored);
  if constexpr (Takes<Stored>::words) {
    uint32_t x[4];
    uint32_t y[4];
    uint32_t z[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      x[k] = a[k];
      y[k] = b[k];
    }
    apply_words<BinaryOp, Stored, Stored>(operation, x, y, z);
    store_piece<4>(reinterpret_cast<uint32_t*>(out), z);
  } else {
    Stored x[length];
    Stored y[length];
    Stored z[length];
    hiptool_device::copy_bytes<sizeof x>(x, a);
    hiptool_device::copy_bytes<sizeof y>(y, b);
    apply<length>(operation, x, y, z);
    store_piece<length>(out, z);
  }
}

template <class Stored>
HIPTOOL_INLINE __device__ void apply_tiles(BinaryOp operation, const TiledBinary& all,
                                           const Stored* a, const Stored* b, Stored* out) {
  using Shape = TileShape<sizeof(Stored)>;
  using Word = typename WordOf<sizeof(Stored)>::Type;
  using Bits = typename BitsOf<sizeof(Stored)>::Type;
  constexpr unsigned row_pieces = Shape::side / Shape::piece;
  constexpr unsigned tile_words = Shape::shared_bytes / sizeof(Word);
  Word* const words = reinterpret_cast<Word*>(hiptool_device::dynamic_shared());
  for (uint64_t i = blockIdx.x; i < all.tiles.count; i += gridDim.x) {
    uint64_t places[5];
    find_places(all.tiles, i, places);
    const uint64_t source_rows = all.source_rows - places[3];
    const uint64_t output_rows = all.output_rows - places[4];
    constexpr uint64_t side = Shape::side;
    const TilePart part = {static_cast<unsigned>(source_rows < side ? source_rows : side),
                           static_cast<unsigned>(output_rows < side ? output_rows : side)};
#pragma unroll 1
    for (unsigned k = 0; k < 2; ++k) {
      const Bits* const from =
          reinterpret_cast<const Bits*>(k == 0 ? a + places[0] : b + places[1]);
      Word* const to = words + k * tile_words;
      if (all.crossing >> k & 1U) {
        load_tile_pieces(all.steps[k], part, from, to);
      } else {
        load_straight_pieces(all.steps[k], (all.repeats >> k & 1U) != 0, part, from, to);
      }
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned unit = threadIdx.x; unit < Shape::side * row_pieces; unit += tile_threads) {
      const unsigned row = unit / row_pieces;
      const unsigned column = unit % row_pieces * Shape::piece;
      if (row >= part.output_rows || column >= part.source_rows) continue;
      const Word* const piece = words + row * Shape::pitch + column / Shape::packed;
      apply_piece<Stored>(operation, piece, piece + tile_words,
                          out + places[2] + row * all.output_step + column);
    }
    __syncthreads();
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS(type, Stored)                                                            \
  extern "C" __global__ void __launch_bounds__(256)                                              \
      hiptool_binary_tiled_##type(hiptool_ops::BinaryOp operation, hiptool_ops::TiledBinary all, \
                                  const Stored* a, const Stored* b, Stored* out) {               \
    hiptool_ops::apply_tiles(operation, all, a, b, out);                                         \
  }                                                                                              \
  HIPTOOL_EXPORT(hiptool_binary_tiled_##type)

HIPTOOL_KERNELS(u8, uint8_t);
HIPTOOL_KERNELS(u32, uint32_t);
HIPTOOL_KERNELS(i16, int16_t);
HIPTOOL_KERNELS(i32, int32_t);
HIPTOOL_KERNELS(i64, int64_t);
HIPTOOL_KERNELS(f16, hiptool_ops::F16);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(f32, float);
HIPTOOL_KERNELS(f64, double);
