// SPDX-License-Identifier: MIT
/// Layers with a state in place of keys and values, and gated attention. Each step queues its work.
#pragma once
#include <cstdint>

#include "hiptool/decoder_spec.hpp"
#include "hiptool/tensor.hpp"
#include "runtime/decoder_part.hpp"
#include "runtime/decoder_products.hpp"
#include "runtime/decoder_weights.hpp"

namespace hiptool::runtime {

/// Which of the two copies of each state a chunk reads and writes. A step writes the one that the
/// step before did not, so that it can be repeated after an error.
struct StateTurn {
  bool has_state = false;  ///< else it is 0: these are the first tokens
  std::size_t from = 0;
  std::size_t to = 0;
};

/// What the layer's attention_output takes, of normed inputs [tokens, embedding].
Tensor delta_attention(const DecoderPart& part, const DecoderLayer& layer, std::size_t number,
                       const LayerWeights& own, const Tensor& normed, const StateTurn& turn,
                       double norm_epsilon, const SayStage& say);

/// Queries of a matrix that has gates behind each head's: both are in DecoderMemory::joined then.
Tensor queries_of_both(const DecoderPart& part, const DecoderSpec& spec, const DecoderLayer& layer,
                       const LayerWeights& own, const Tensor& normed, const SayStage& say);
/// Multiplies attention [tokens, heads, value_length] by the sigmoid of these gates.
void apply_output_gate(const DecoderPart& part, const DecoderSpec& spec, const DecoderLayer& layer,
                       Tensor& attention);

}  // namespace hiptool::runtime
