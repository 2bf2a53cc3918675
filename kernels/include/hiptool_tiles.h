// SPDX-License-Identifier: MIT
// Tiles in shared memory, through which two axes of a tensor are exchanged.
#pragma once
#include "hiptool_elements.h"
#include "hiptool_moves.h"

namespace hiptool_ops {

enum : unsigned { tile_threads = 256 };

template <unsigned bytes>
struct WordOf {
  using Type = uint32_t;
};
template <>
struct WordOf<8> {
  using Type = uint64_t;
};

// Elements are moved as numbers of their size.
template <unsigned bytes>
struct BitsOf {
  using Type = uint32_t;
};
template <>
struct BitsOf<1> {
  using Type = uint8_t;
};
template <>
struct BitsOf<2> {
  using Type = uint16_t;
};
template <>
struct BitsOf<8> {
  using Type = uint64_t;
};

// Part of a tile that is inside the tensor.
struct TilePart {
  unsigned source_rows;
  unsigned output_rows;
};

inline __device__ uint32_t word_of(uint4 unit, unsigned k) {
  return k == 0 ? unit.x : k == 1 ? unit.y : k == 2 ? unit.z : unit.w;
}

// Element k of 16 bytes, in the place p of a word.
template <class Stored>
inline __device__ typename WordOf<sizeof(Stored)>::Type place_in_word(uint4 unit, unsigned k,
                                                                      unsigned p) {
  if constexpr (sizeof(Stored) == 8) {
    return static_cast<uint64_t>(word_of(unit, 2 * k + 1)) << 32 | word_of(unit, 2 * k);
  } else {
    constexpr unsigned packed = TileShape<sizeof(Stored)>::packed;
    const uint32_t word = word_of(unit, k / packed) >> (k % packed * 8 * sizeof(Stored));
    return static_cast<uint32_t>(static_cast<Stored>(word)) << (p * 8 * sizeof(Stored));
  }
}

// Each thread takes 16 bytes of as many neighbouring rows as a word has elements.
template <class Stored>
inline __device__ void load_tile_pieces(uint64_t source_stride, TilePart part, const Stored* from,
                                        typename WordOf<sizeof(Stored)>::Type* words) {
  using Shape = TileShape<sizeof(Stored)>;
  using Word = typename WordOf<sizeof(Stored)>::Type;
  constexpr unsigned piece = Shape::piece;
  constexpr unsigned packed = Shape::packed;
  constexpr unsigned row_pieces = Shape::side / piece;
  constexpr unsigned steps = Shape::side / packed * row_pieces / tile_threads;
  uint4 units[steps][packed];
  // All reads before the first write: they wait for memory together.
#pragma unroll
  for (unsigned step = 0; step < steps; ++step) {
    const unsigned unit = threadIdx.x + step * tile_threads;
    const unsigned row = unit / row_pieces * packed;
    const unsigned column = unit % row_pieces * piece;
#pragma unroll
    for (unsigned p = 0; p < packed; ++p) {
      units[step][p] = hiptool_device::make_unit(0, 0, 0, 0);
      if (row + p < part.source_rows && column < part.output_rows) {
        units[step][p] =
            load_unit(reinterpret_cast<const uint4*>(from + (row + p) * source_stride + column));
      }
    }
  }
#pragma unroll
  for (unsigned step = 0; step < steps; ++step) {
    const unsigned unit = threadIdx.x + step * tile_threads;
    const unsigned column = unit % row_pieces * piece;
#pragma unroll
    for (unsigned k = 0; k < piece; ++k) {
      Word word = 0;
#pragma unroll
      for (unsigned p = 0; p < packed; ++p) word |= place_in_word<Stored>(units[step][p], k, p);
      words[(column + k) * Shape::pitch + unit / row_pieces] = word;
    }
  }
}

// Rows that need no exchange, to the same places: 16 bytes of a row for a thread, or one element of
// it repeated.
template <class Stored>
inline __device__ void load_straight_pieces(uint64_t row_stride, bool repeats, TilePart part,
                                            const Stored* from,
                                            typename WordOf<sizeof(Stored)>::Type* words) {
  using Shape = TileShape<sizeof(Stored)>;
  using Word = typename WordOf<sizeof(Stored)>::Type;
  constexpr unsigned piece = Shape::piece;
  constexpr unsigned piece_words = piece / Shape::packed;
  constexpr unsigned row_pieces = Shape::side / piece;
  constexpr unsigned steps = Shape::side * row_pieces / tile_threads;
  Word units[steps][piece_words];
#pragma unroll
  for (unsigned step = 0; step < steps; ++step) {
    const unsigned unit = threadIdx.x + step * tile_threads;
    const unsigned row = unit / row_pieces;
    const unsigned column = unit % row_pieces * piece;
#pragma unroll
    for (unsigned k = 0; k < piece_words; ++k) units[step][k] = 0;
    if (row >= part.output_rows || column >= part.source_rows) continue;
    if (repeats) {
      Word word = 0;
      hiptool_device::copy_bytes<sizeof(Stored)>(&word, from + row * row_stride);
      if constexpr (sizeof(Stored) < 4) word *= sizeof(Stored) == 1 ? 0x01010101U : 0x00010001U;
#pragma unroll
      for (unsigned k = 0; k < piece_words; ++k) units[step][k] = word;
    } else {
      load_piece<piece_words>(reinterpret_cast<const Word*>(from + row * row_stride + column),
                              units[step]);
    }
  }
#pragma unroll
  for (unsigned step = 0; step < steps; ++step) {
    const unsigned unit = threadIdx.x + step * tile_threads;
    Word* const to = words + unit / row_pieces * Shape::pitch + unit % row_pieces * piece_words;
#pragma unroll
    for (unsigned k = 0; k < piece_words; ++k) to[k] = units[step][k];
  }
}

}  // namespace hiptool_ops
