// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "model/contents.hpp"

namespace hiptool::model {

/// What the file is, by its metadata (llama.cpp's general.type and architectures) or, for
/// safetensors, by the names of its tensors.
ModelKind find_model_kind(const Contents& contents);

/// "LoRA adapter", "importance matrix (imatrix)"; of a model "model".
std::string model_kind_name(const ModelFile& model);

/// What such a file is used with, and how: "it changes a model that is loaded with it (base model:
/// org/name): ..."; empty for a model.
std::string goes_with(const ModelFile& model);

/// Throws Error(input_failed) that says what the file is, unless it is a model.
void require_model(const ModelFile& model, const char* operation);

}  // namespace hiptool::model
