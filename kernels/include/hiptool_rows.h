// SPDX-License-Identifier: MIT
// What the host passes to reductions and to row-wise operations; both include it.
#pragma once
#include "hiptool_operands.h"

namespace hiptool_ops {

enum : unsigned {
  row_threads = 256,           // of a block
  short_row = 512,             // elements up to which 32 threads share a row
  column_lanes = 32,           // that share the elements of a column
  stash_pieces_most = 8,       // pieces of 16 bytes that a thread keeps of its row
  join_bytes = 128,            // shared memory in front of the stash
  whole_pieces_at_once = 8,    // of norm_whole.hip: a thread's pieces by blocks of a multiprocessor
  norm_many_threads = 128,     // of a block of norm_many.hip
  norm_many_rows = 1024,       // from this many rows on norm_many.hip serves
  norm_many_join_floats = 16,  // of shared memory for one sum of each row of a block
  norm_many_join_bytes = 3 * norm_many_join_floats * 4,
};

// What a kernel computes; `least` serves min and max, `place_of_least` argmin and argmax.
enum class ReduceKind : uint32_t { sum, least, place_of_least };

// The type of a sum's result where it is computed in f32.
enum class SumResult : uint32_t { own, f32, f16, bf16, f8e4m3 };

struct Reduction {
  uint64_t length;        // elements that become one, in row-major order of the reduced axes
  uint64_t chunk_length;  // a multiple of 256
  uint64_t chunks;        // of each result
  uint64_t outer;         // results without those along axis 0 of `kept`
  uint32_t is_reversed;   // the largest, not the least
  SumResult result;
  uint32_t group_bits;  // 2^this threads share a row, or take neighbouring runs of columns
  Operands<1> reduced;  // of the input; axis 0 is the last of the reduced axes
  Operands<2> kept;     // of the input and of the result; packed, bit 0: pieces along axis 0
};

// Rows along one axis, and where they are in input and output.
struct Rows {
  Operands<2> rows;
  uint64_t width;
  uint64_t strides[4];  // along the row: input, output, weight, bias
  uint32_t pieces;      // bit k: that operand has aligned pieces of 16 bytes
  uint32_t group;       // threads of a row, 32 or 256
  uint32_t stashed;     // the row fits shared memory
};

// How two elements of a row are rotated together.
struct Rotation {
  Operands<4> pairs;    // first element of a pair in input, cosine, sine, first one in the output
  uint64_t input_step;  // to the second element of the pair
  uint64_t output_step;
  uint32_t in_pieces;  // bit 0: pairs of the input are neighbours in aligned pieces; bit 1: output
};

enum class GateKind : uint32_t { silu, gelu, gelu_erf, relu, sigmoid };

}  // namespace hiptool_ops
