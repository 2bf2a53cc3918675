// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <cstdint>
#include <string_view>

namespace hiptool::load {

/// The order of computation in a model.
enum class Section { before_layers, layer, after_layers };

/// The place of a tensor in the order of computation.
struct LayerName {
  Section section = Section::before_layers;
  std::uint64_t layer = 0;  ///< only for a layer's tensor
  friend auto operator<=>(const LayerName&, const LayerName&) = default;
};

/// Reads it from the tensor's name: "blk.7.attn_q.weight" (GGUF),
/// "model.layers.7.mlp.up_proj.weight" or "transformer.h.7.ln_1.weight" (Hugging Face). Vision and
/// audio towers are computed before the layers, whatever the names of their own layers.
LayerName read_layer_name(std::string_view tensor) noexcept;

}  // namespace hiptool::load
