// SPDX-License-Identifier: MIT
// What the host passes to the kernels of matrix products; both include it.
#pragma once
#include "hiptool_operands.h"

namespace hiptool_ops {

enum : unsigned {
  matmul_threads = 256,  // of a block
  matmul_piece = 4,      // neighbouring elements that a thread loads at a time
};

// Tiles of side x side results for each of 16 x 16 threads. A step along k takes `depth` elements,
// of which each thread loads one piece of either operand.
template <unsigned side_>
struct MatmulTile {
  enum : unsigned {
    side = side_,
    tile = 16 * side,
    depth = 1024 / tile,
    row = tile + 4,  // numbers; the padding keeps rows out of each other's banks
    numbers = 4 * depth * row
  };
};

// One of the two factors; its own axis is m or n. The axis with neighbours has stride 1.
struct MatmulFactor {
  uint64_t size;        // along its own axis
  uint64_t stride;      // along its own axis
  uint64_t k_stride;    // along k
  uint32_t is_across;   // neighbours are along k
  uint32_t has_pieces;  // all pieces along the axis of neighbours are aligned, and whole but at k
};

// out = alpha a b + beta out. Sums of a chunk are joined by fused multiply-add in the order of k.
struct Matmul {
  MatmulFactor a;
  MatmulFactor b;
  uint64_t k;
  uint64_t chunk;   // elements of k, a multiple of 16
  uint64_t chunks;  // of each sum; with more than one they go to `partial`
  uint64_t row_tiles;
  uint64_t column_tiles;
  uint64_t out_stride;  // from row to row; columns are neighbours
  uint32_t out_pieces;  // 1: pieces of the output are aligned, and whole
  uint32_t reads_out;   // beta is not 0
  double alpha;
  double beta;
  Operands<3> batches;  // of a, b, out
};

}  // namespace hiptool_ops
