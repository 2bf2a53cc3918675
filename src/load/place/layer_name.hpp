// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace hiptool::load {

/// Where a tensor stands in a model that is computed layer by layer.
enum class Section { before_layers, layer, behind_layers };

struct LayerName {
  Section section = Section::before_layers;
  std::uint64_t layer = 0;  ///< only for a layer's tensor
};

/// Reads it off the tensor's name: "blk.7.attn_q.weight" (GGUF),
/// "model.layers.7.mlp.up_proj.weight" or "transformer.h.7.ln_1.weight" (Hugging Face). Towers that
/// see or hear are computed before the layers, whatever theirs are called.
LayerName read_layer_name(std::string_view tensor) noexcept;

}  // namespace hiptool::load
