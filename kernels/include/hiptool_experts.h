// SPDX-License-Identifier: MIT
// What the host passes to the kernels of experts; both include it.
#pragma once
#include "hiptool_layers.h"

namespace hiptool_ops {

enum : unsigned {
  most_experts = 1024,
};

// The matrix of one expert; all of them have the same rows and columns.
struct ExpertMatrix {
  uint64_t address;
  uint64_t row_bytes;
  uint64_t scales;      // of the type split_mxfp4: exponents of the blocks from the address on
  uint32_t type;        // ggml's number, or split_mxfp4
  uint32_t has_pieces;  // see FileMatrix
};

// Codes apart from their exponents; element 2i of a block is the low half of byte i.
enum : uint32_t { split_mxfp4 = 0x10000 };

// Which experts each token uses, and their weights.
struct Routing {
  uint64_t tokens;
  uint64_t score_stride;  // from token to token; scores of a token are neighbours
  uint32_t experts;
  uint32_t used;
  uint32_t is_normalised;  // the weights of the used ones add up to 1, else those of all
};

// A slot is one expert of one token; the slots of a token follow each other.
struct ExpertProduct {
  uint64_t slots;
  uint64_t slots_of_x;  // that share a row of x
  uint64_t experts;
  uint64_t rows;
  uint64_t columns;
  uint64_t x_stride;
  uint64_t out_stride;
  uint32_t x_pieces;  // see FileProduct
  uint32_t has_bias;
  uint64_t bias_stride;  // from expert to expert; first row and step
  uint64_t bias_first;
  uint64_t bias_step;
};

// See GateKind::clamped_silu of hiptool/decoder_spec.hpp.
struct ClampedGate {
  uint64_t count;
  float limit;
  float slope;
};

struct ExpertSum {
  uint64_t tokens;
  uint64_t used;
  uint64_t columns;
  uint64_t x_stride;  // from slot to slot
  uint64_t out_stride;
};

}  // namespace hiptool_ops
