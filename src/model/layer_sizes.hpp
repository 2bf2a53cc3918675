// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hiptool/model_file.hpp"

namespace hiptool::model {

/// Layers that are alike, or tensors of one name outside of layers.
struct LayerGroup {
  /// What comes before a layer's number ("blk", "model.layers"), or a tensor's name without its
  /// last word ("token_embd").
  std::string name;
  std::vector<std::uint64_t> layers;  ///< their numbers, rising; empty outside of layers
  std::uint64_t tensors = 0;          ///< of all of them together, as the next two
  std::uint64_t parameters = 0;
  std::uint64_t size_bytes = 0;
};

/// The tensors of a model by layer. A layer is what shares a name up to its first number. Layers of
/// one stack are alike if they have as many tensors, elements and bytes of each element type.
/// Groups are in the order in which their first tensors come in a stack's first layer. What is
/// beyond 1000 names or 10 000 layers is one last group, "(others)".
std::vector<LayerGroup> group_layers(const ModelFile& model);

}  // namespace hiptool::model
