// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

namespace hiptool::model {

/// The file that stands for the model of a folder: the index of a safetensors set, else the only
/// .safetensors file, else the only GGUF model (of a set its first file). A folder of the Hugging
/// Face cache (models--ORGANISATION--NAME) stands for the snapshot that its refs/main names.
///
/// Throws Error(input_failed) when the folder holds no model, or several, which are then listed.
std::filesystem::path find_model_in_folder(const std::filesystem::path& folder);

}  // namespace hiptool::model
