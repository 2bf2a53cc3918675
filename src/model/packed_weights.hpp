// SPDX-License-Identifier: MIT
#pragma once
#include "model/contents.hpp"

namespace hiptool::model {

/// Sets TensorInfo::weights of all tensors. Quantised safetensors store several weights in an
/// element, and tables (scales, zero points, permutations) that a model card does not count. The
/// shapes of a layer's tables say how many weights an element holds; where they leave it open, the
/// quantization_config of config.json does. Warns of packed tensors for which neither does.
void count_weights(Contents& contents);

}  // namespace hiptool::model
