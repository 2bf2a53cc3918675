// SPDX-License-Identifier: MIT
// What the host passes to the kernels that move elements; both include it.
#pragma once
#include "hiptool_operands.h"

namespace hiptool_ops {

// Square tiles of elements of `size` bytes, by which a copy exchanges two axes. A column of a tile
// is in shared memory as words, each of as many elements as 4 bytes hold. The pitch is odd, so that
// a warp finds its words in different banks.
template <unsigned size>
struct TileShape {
  enum : unsigned {
    side = size == 1   ? 128
           : size == 8 ? 32
                       : 64,
    piece = 16 / size,                 // elements that a thread takes at a time
    packed = size < 4 ? 4 / size : 1,  // elements of a word
    word_bytes = size < 4 ? 4 : size,
    pitch = side / packed + 1,  // words
    shared_bytes = side * pitch * word_bytes
  };
};

// The source's rows are contiguous, and the output's are those that cross them.
struct TiledCopy {
  // By tile. Operands: source, output, first source row, first output row.
  Operands<4> tiles;
  uint64_t source_rows;
  uint64_t output_rows;
  uint64_t source_stride;  // from row to row, in elements
  uint64_t output_stride;
  uint32_t source_pieces;  // 1: all rows consist of 16 bytes at multiples of 16
  uint32_t output_pieces;
};

// Two operands and an output whose rows are contiguous; rows of those inputs whose bit is set cross
// them. All consist of whole pieces; the pieces of inputs have 16 bytes, at multiples of 16.
struct TiledBinary {
  // By tile. Operands: a, b, output, first source row, first output row.
  Operands<5> tiles;
  uint64_t source_rows;
  uint64_t output_rows;
  uint64_t steps[2];  // of an input: from source row to source row where it crosses, else from
                      // output row to output row
  uint64_t output_step;
  uint32_t crossing;
  uint32_t repeats;  // bit k: input k has one element for each output row
};

enum class IdType : uint32_t { u8, u32, i64 };

// Where kernels record the first wrong index or divisor, all ones at the start. The owner is the
// number of the operation; the others are position << 24 with 24 bits of the value each, so that
// the least of each belong to the same position.
struct FaultRecord {
  uint64_t owner;
  uint64_t pieces[3];
};

// The axis along which ids choose: number of elements that may be chosen, and strides.
struct ChosenAxis {
  uint64_t size;    // in the tensor that ids point into
  uint64_t stride;  // there
  FaultRecord* faults;
  uint64_t owner;
  IdType id_type;
};

// What a thread runs through when it scatters: the axis of the source, and its strides.
struct ScatterLoop {
  uint64_t length;
  uint64_t source_stride;
  uint64_t id_stride;
  uint64_t position_stride;
  uint64_t scratch_stride;  // along the axis that ids choose from
};

enum class Distribution : uint32_t { uniform, normal };

}  // namespace hiptool_ops
