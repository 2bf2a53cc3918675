// SPDX-License-Identifier: MIT
/// Attention to the keys and values of all tokens so far. Each step queues its work.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hiptool/decoder_spec.hpp"
#include "hiptool/tensor.hpp"
#include "runtime/decoder_part.hpp"
#include "runtime/decoder_products.hpp"
#include "runtime/decoder_weights.hpp"

namespace hiptool::runtime {

/// Throws Error(unsupported) for heads that there are no kernels for.
void require_heads(const DecoderSpec& spec);

/// What a layer's attention_output takes, of normed inputs [tokens, embedding] at positions from
/// `first` on, whose keys and values the cache gets.
Tensor softmax_attention(DecoderPart& part, const DecoderSpec& spec, std::size_t number,
                         const LayerWeights& own, const Tensor& normed, std::uint64_t first,
                         const SayStage& say);

/// The same of one token in two launches, with the same bits, where the layer has no further steps;
/// intermediate results are in no memory. Nothing for other layers: then nothing may be read of
/// scratch memory.
std::optional<Tensor> token_attention(DecoderPart& part, const DecoderSpec& spec,
                                      std::size_t number, const LayerWeights& own,
                                      const ops::ProductInput& input, std::uint64_t first);

}  // namespace hiptool::runtime
