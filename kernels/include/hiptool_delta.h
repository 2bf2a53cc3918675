// SPDX-License-Identifier: MIT
// What the host passes to the kernels of layers with a state; both include it.
#pragma once
#include "hiptool_moves.h"

namespace hiptool_ops {

enum : unsigned { delta_threads = 64 };  // of a block

// Inputs of the tokens [tokens, channels]; those before them are the state's [taps - 1, channels].
struct CausalConvolution {
  uint64_t tokens;
  uint64_t channels;
  uint32_t taps;
  uint32_t has_state;  // else 0 comes before the first token
};

// Numbers [tokens, heads].
struct DeltaSteps {
  uint64_t count;
  uint32_t heads;
  uint32_t has_rates;  // -e^log in place of the logarithms
};

// q and k [tokens, key_heads, key_length], v with strides, decay and beta [tokens, value_heads],
// results [tokens, value_heads, value_length], states [value_heads, key_length, value_length].
struct DeltaRule {
  uint64_t tokens;
  uint64_t v_stride;  // from token to token
  uint32_t key_heads;
  uint32_t value_heads;
  uint32_t key_length;
  uint32_t value_length;
  uint32_t has_state;  // else it is 0
  uint32_t is_tiled;   // value head h uses key head h % key_heads
};

}  // namespace hiptool_ops
