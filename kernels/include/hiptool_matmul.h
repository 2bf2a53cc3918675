// SPDX-License-Identifier: MIT
// What the host passes to the kernels of matrix products; both include it.
#pragma once
#include "hiptool_operands.h"

namespace hiptool_ops {

enum : unsigned {
  matmul_threads = 256,    // of a block
  matmul_piece = 4,        // neighbouring elements that a thread loads at a time
  matmul_unit_rows = 128,  // of a tile by matrix instructions
  matmul_unit_columns = 256,
  matmul_unit_piece_bytes = 24 * 1024,  // of shared memory, for 32 elements of k
  matmul_unit_stages_nvidia = 4,        // of such pieces; elsewhere shared memory is 64 KiB
  matmul_unit_stages = 2,
  matmul_group_piece_bytes = 48 * 1024,      // of shared memory, for 64 elements of k
  matmul_group_stages = 4,                   // of such pieces
  matmul_group_shared_bytes = 193 * 1024,    // they begin at a multiple of 1024
  matmul_i8_tile = 64,                       // results of i8 in each direction
  matmul_i8_depth = 32,                      // elements of k at a time
  matmul_i8_pitch = matmul_i8_tile / 4 + 1,  // words; the padding is for the banks
  matmul_i8_shared_bytes = 2 * matmul_i8_depth * matmul_i8_pitch * 4,
  matmul_rows = 32,     // of a factor that a block multiplies by a few vectors
  matmul_vectors = 8,   // of them at most
  matmul_lanes = 32,    // partial sums of one result; lane i has pieces i, i + 32, ... of k
  matmul_stride = 128,  // elements from a lane's piece to its next one
};

// Tiles of side x side results for each of 16 x 16 threads. A step along k takes `depth` elements,
// of which each thread loads one piece of either operand.
template <unsigned side_, bool is_whole_ = false>
struct MatmulTile {
  enum : unsigned {
    side = side_,
    is_whole = is_whole_,  // all pieces and steps along k are whole
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

// out = alpha a b + beta out.
struct Matmul {
  MatmulFactor a;
  MatmulFactor b;
  uint64_t k;
  uint64_t chunk;      // elements of k, a multiple of 128
  uint64_t chunks;     // of each sum; with more than one they go to `partial`
  uint64_t row_tiles;  // or blocks of matmul_rows rows
  uint64_t column_tiles;
  uint64_t out_stride;         // from row to row
  uint64_t out_column_stride;  // 1 for tiles
  uint32_t out_pieces;         // 1: pieces of the output's rows are aligned, and whole
  uint32_t reads_out;          // beta is not 0
  double alpha;
  double beta;
  Operands<3> batches;  // of a, b, out
};

}  // namespace hiptool_ops
