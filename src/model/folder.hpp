// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "hiptool/model_file.hpp"

namespace hiptool::model {

/// What was chosen in a folder, and what was not.
struct FolderModel {
  std::filesystem::path file;
  /// Names of model files that the choice has passed over. They may belong to the chosen set.
  std::vector<std::string> others;
};

/// The file that stands for the model of a folder: the index of a safetensors set, else the only
/// .safetensors file, else the only GGUF model (of a set its first file). GGUF files that only
/// accompany a model (projectors, adapters, importance matrices) do not count beside one. A folder
/// of the Hugging Face cache (models--ORGANISATION--NAME) stands for the snapshot that its
/// refs/main names.
///
/// Throws Error(input_failed) when the folder holds no model, and Error(invalid_argument) when it
/// holds several of which no rule chooses one; they are listed.
FolderModel find_model_in_folder(const std::filesystem::path& folder);

/// "the folder holds 3 models; ..." where some were passed over that are no part of the model;
/// empty where there are none.
std::string passed_over_note(const FolderModel& found, const std::vector<ModelPart>& parts);

}  // namespace hiptool::model
