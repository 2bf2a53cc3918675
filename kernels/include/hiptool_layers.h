// SPDX-License-Identifier: MIT
// What the host passes to the kernels of a decoder's layers; both include it.
#pragma once
#include "hiptool_moves.h"

namespace hiptool_ops {

enum : unsigned {
  layer_threads = 256,     // of a block
  dot_piece = 16,          // neighbouring elements of a row that one thread takes
  dot_lanes = 64,          // threads that share the rows of a product
  dot_teams = 4,           // in a block
  dot_pitch = 65,          // sums of a row in shared memory: odd, so that rows differ in banks
  dot_rows_of_one = 2,     // rows that 64 threads take with one token
  dot_pieces_of_one = 2,   // pieces of each of these at a time
  dot_staged = 512,        // pieces of the token in shared memory at a time, on NVIDIA GPUs
  dot_rows_of_many = 2,    // rows that 64 threads take with several tokens
  dot_tokens = 8,          // tokens that they take at a time
  many_rows = 128,         // of a tile of products with many tokens
  many_tokens = 64,        // tokens of such a tile
  many_multipliers = 256,  // threads of a block that multiply
  many_decoders = 128,     // threads that decode every second piece, and as many for the others
  many_levels = 6,         // of sums that wait: of 1, 2, .. 32 lanes
  many_shared_bytes =
      many_levels * many_rows * many_tokens * 4 +
      2 * (dot_piece * (many_rows + many_tokens + 8) + 2 * many_rows + many_tokens) * 4,
  attention_keys = 256,   // of a segment, one for each thread
  attention_parts = 8,    // into which the keys of a segment are divided for the values
  attention_size = 256,   // the longest head
  attention_extra = 304,  // floats in front of the parts: scores, largest ones, sums
  // Attention of many tokens: rows of a block, elements of its keys at a time, and floats from one
  // key to the next in shared memory, of elements and of terms.
  attention_rows = 16,
  attention_chunk = 16,
  attention_key_pitch = attention_chunk + 4,
  attention_term_pitch = attention_rows + 4,
  attention_pitch = attention_rows > attention_chunk ? attention_term_pitch : attention_key_pitch,
  attention_tile_floats = attention_keys * attention_pitch,  // for either of them
};

// Floats from one row's query to the next: four rows go to different groups of banks.
HIPTOOL_SHARED constexpr uint32_t attention_query_pitch(uint64_t key_size) {
  return static_cast<uint32_t>((key_size + 31) / 32 * 32 + 4);
}
// Shared memory of a block: keys or terms, queries, and four words of each row.
HIPTOOL_SHARED constexpr uint32_t attention_rows_bytes(uint64_t key_size) {
  return (attention_tile_floats + attention_rows * (attention_query_pitch(key_size) + 4)) * 4;
}

// From one quarter of the staged pieces to the next, in units of 16 bytes: eight neighbouring units
// of the token go to eight different groups of banks.
HIPTOOL_SHARED constexpr uint32_t staged_pitch(uint64_t pieces) {
  const uint64_t staged = pieces < dot_staged ? pieces : static_cast<uint64_t>(dot_staged);
  return static_cast<uint32_t>((staged + 7) / 8 * 8 + 2);
}

// Some types are read in stretches of four pieces on NVIDIA GPUs, by 16 threads a row.
enum : unsigned {
  stretch_pieces = 4,                               // and as many sums of a row
  stretch_units = 16,                               // of four columns
  stretch_threads = dot_lanes / stretch_pieces,     // that share a row
  stretch_teams = layer_threads / stretch_threads,  // in a block
  // From one unit of the staged stretches to the next, in units of 16 bytes: odd, so that
  // neighbouring units of the token go to different groups of banks.
  stretch_pitch = dot_staged / stretch_pieces + 1,
};

// Plain types have the numbers that ggml gives them.
enum class PlainType : uint32_t { f32 = 0, f16 = 1, f64 = 28, bf16 = 30 };

// ggml's numbers of the types that hiptool_stretches.h and hiptool_stretches_32.h read.
HIPTOOL_SHARED constexpr bool has_stretches(uint32_t type) {
  return type == 2 || type == 3 || (type >= 6 && type <= 8) || (type >= 12 && type <= 14) ||
         type == 20 || type == 39 || type == 40;
}

// NVIDIA's kernels load stretches by aligned units of 16 bytes. Where the numbers of a type end its
// blocks, the last unit would end past a matrix whose size is not a multiple of 16: kernels take
// such a matrix as of a type apart, with the same bits, and load nothing past a block. Q4_K and
// Q5_K have blocks of whole units, and in those of Q6_K scales follow the numbers.
constexpr uint32_t apart = 64;  // added to ggml's numbers, which are smaller
HIPTOOL_SHARED constexpr uint32_t type_of_memory(uint32_t type, uint64_t bytes) {
  const bool is_of_k = type >= 12 && type <= 14;
  return has_stretches(type) && !is_of_k && bytes % 16 != 0 ? type + apart : type;
}

// Of these, kernels for all types load the pieces of some in aligned groups of 8 bytes.
HIPTOOL_SHARED constexpr bool has_groups_of_eight(uint32_t type) {
  return type == 2 || type == 3 || type == 8 || type == 20 || type == 39;
}

// f16 and bf16 are read there by 32 threads a row, each of which has two lanes.
enum : unsigned {
  warp_threads = 32,
  warp_lanes = dot_lanes / warp_threads,
  warp_teams = layer_threads / warp_threads,  // in a block
  warp_depth = 4,                             // pieces that a thread has loaded ahead
};
HIPTOOL_SHARED constexpr bool has_warp_rows(uint32_t type) {
  return type == static_cast<uint32_t>(PlainType::f16) ||
         type == static_cast<uint32_t>(PlainType::bf16);
}

// Blocks of one token that a multiprocessor takes at the same time, to which compilers limit their
// registers and the host the blocks of a launch: later ones would find it nearly idle. Types apart
// are read piece by piece.
HIPTOOL_SHARED constexpr uint32_t token_blocks(uint32_t type) {
  if (has_stretches(type) || has_warp_rows(type)) return 2;
  return type == static_cast<uint32_t>(PlainType::f32) ? 4 : 3;
}

constexpr uint32_t group_bytes = layer_threads / 32 * 4;  // a word of each group of 32 threads

// Dynamic shared memory of a block for products with one token, which is staged or not: first the
// sums of the lanes and the joined ones, which stretches do not need.
HIPTOOL_SHARED constexpr uint32_t token_sums_floats() {
  return dot_teams * dot_rows_of_one * dot_pitch + dot_teams * dot_rows_of_one;
}
HIPTOOL_SHARED constexpr uint32_t token_shared_bytes(uint32_t type, uint64_t pieces,
                                                     bool is_staged) {
  if (!is_staged) return token_sums_floats() * 4;
  if (has_stretches(type)) return stretch_units * stretch_pitch * 16 + dot_staged * 4 + group_bytes;
  if (has_warp_rows(type)) return 4 * staged_pitch(pieces) * 16;
  return token_sums_floats() * 4 + 4 * staged_pitch(pieces) * 16;
}
// Rows of a block; a gate's row and its partner are two.
HIPTOOL_SHARED constexpr uint32_t token_rows(uint32_t type, bool is_staged) {
  if (is_staged && has_stretches(type)) return stretch_teams;
  return dot_rows_of_one *
         (is_staged && has_warp_rows(type) ? unsigned{warp_teams} : unsigned{dot_teams});
}

// Products of one token whose rows come through a ring of slots in shared memory
// (hiptool_ring_rows.h), of which each warp has its own. A multiprocessor has one block, which
// stages the token once for all of them; half of the threads, where the token leaves less memory.
enum : unsigned {
  ring_pieces = dot_lanes,  // of a row's turn
  ring_threads = 512,
  ring_most_bytes = 227 * 1024,  // shared memory of a block of compute capability 9.0
};
struct RingShape {
  uint32_t tile_rows;  // of a warp; 0: the type has no ring
  uint32_t slots;
  uint32_t slot_units;   // of 16 bytes, for the rows of a tile
  uint32_t token_units;  // of the token for a turn in shared memory
};
// Of ggml's number of a type.
HIPTOOL_SHARED constexpr RingShape ring_shape(uint32_t type) {
  if (type == 12) return {4, 2, 4 * 36, 272 + 16};
  if (has_warp_rows(type)) return {2, 2, 2 * 128, 264};
  return {0, 0, 0, 0};
}
HIPTOOL_SHARED constexpr uint64_t ring_shared_bytes(RingShape shape, uint64_t pieces,
                                                    uint32_t threads) {
  const uint64_t turns = (pieces + ring_pieces - 1) / ring_pieces;
  const uint64_t warps = threads / 32;
  return (turns * shape.token_units + warps * shape.slots * shape.slot_units) * 16 + warps * 4;
}

// Rows of a matrix as they are in a model file.
struct FileMatrix {
  uint64_t rows;
  uint64_t columns;
  uint64_t row_bytes;
  uint32_t type;        // ggml's number, or a type apart's
  uint32_t has_pieces;  // rows consist of whole pieces, plain ones at multiples of 16 bytes
};

struct FileProduct {
  FileMatrix matrix;
  uint64_t tokens;
  uint64_t x_stride;    // from token to token; elements of a token are neighbours
  uint64_t out_stride;  // from token to token
  uint64_t out_step;    // from row to row
  uint32_t x_pieces;    // x consists of whole pieces at multiples of 16 bytes
};

// How the products of a gate and of its partner matrix are combined.
enum class ProductGate : uint32_t { none, silu, gelu };

// Products of one token with up to three matrices of as many columns; or of two, whose rows go
// through a gate into one output.
struct TokenProducts {
  FileProduct each[3];
  uint32_t count;
  ProductGate gate;
  float epsilon;       // of the preceding norm, if there is one
  uint32_t team_rows;  // of a block's team: fewer where there would be too few blocks
};

struct EmbeddingRows {
  FileMatrix matrix;
  uint64_t count;  // of ids
  uint64_t id_stride;
  uint64_t out_stride;  // from row to row
  uint64_t out_step;
  FaultRecord* faults;
  uint64_t owner;
};

// Strides of rows of a tensor [tokens, heads, size], whose last axis has neighbours.
struct HeadStrides {
  uint64_t token;
  uint64_t head;
};

struct Attention {
  uint64_t tokens;
  uint64_t heads;
  uint64_t group;  // heads that share keys and values
  uint64_t key_size;
  uint64_t value_size;
  uint64_t first;   // position of the first token
  uint64_t window;  // keys that a token sees
  HeadStrides query;
  HeadStrides key;
  HeadStrides value;
  HeadStrides out;
  float scale;
  float softcap;        // 0: none
  uint32_t key_pieces;  // four elements are 16 bytes at a multiple of 16
  uint32_t value_pieces;
};

// Attention of the token at position `all.first`: its queries, keys and values are products that
// are not normalised, rotated or in the cache yet.
struct TokenAttention {
  Attention all;
  uint64_t pairs;  // of elements that are rotated
  uint32_t are_neighbours;
  float epsilon;  // of the norms of heads
};

struct RopeTable {
  uint64_t tokens;
  uint64_t pairs;
  uint64_t first;  // position of the first token if there is no list
  uint64_t position_stride;
  uint64_t frequency_stride;
  double magnitude;
};

}  // namespace hiptool_ops
