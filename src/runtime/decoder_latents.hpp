// SPDX-License-Identifier: MIT
/// Queries, keys and values by way of latents: LatentSpec.
#pragma once
#include <cstdint>

#include "hiptool/decoder_spec.hpp"
#include "hiptool/tensor.hpp"
#include "runtime/decoder_part.hpp"
#include "runtime/decoder_products.hpp"
#include "runtime/decoder_weights.hpp"

namespace hiptool::runtime {

/// f32 [tokens, heads x size], in scratch memory.
struct Projected {
  Tensor q, k, v;
};

/// Of normed inputs [tokens, embedding] at positions from `first` on; queries and keys are rotated.
/// Each stage is said as soon as it is queued.
Projected project_latents(const DecoderPart& part, const DecoderSpec& spec,
                          const DecoderLayer& layer, const LayerWeights& own, const Tensor& normed,
                          std::uint64_t first, const SayStage& say);

}  // namespace hiptool::runtime
