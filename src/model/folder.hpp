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
  /// Names of other model files in the folder. They may belong to the chosen set.
  std::vector<std::string> others;
};

/// The file to open for the model of a folder: the index of a safetensors set, else the only
/// .safetensors file, else the only GGUF model (of a set its first file that is there). Of several
/// indexes or .safetensors files it is that of "model", else the only one that is not
/// "consolidated". Names that begin with ._ are attributes of macOS and are skipped. GGUF files
/// that only accompany a model (projectors, adapters, importance matrices) are ignored if there is
/// one. Of a folder of the Hugging Face cache (models--ORGANISATION--NAME) it is the file of the
/// snapshot that refs/main names.
///
/// Throws Error(input_failed) when the folder holds no model, and Error(invalid_argument) when it
/// holds several of which no rule chooses one; they are listed.
FolderModel find_model_in_folder(const std::filesystem::path& folder);

/// The snapshot of a folder models--ORGANISATION--NAME of the Hugging Face cache that refs/main
/// names, else the only one. Throws Error(input_failed) where there is none.
std::filesystem::path hugging_face_snapshot(const std::filesystem::path& folder);

/// Of the files that are not part of the model: shards of its set that its index does not list, and
/// other models ("the folder holds 3 models; ..."). Empty where there are none.
std::vector<std::string> passed_over_notes(const FolderModel& found,
                                           const std::vector<ModelPart>& parts);

}  // namespace hiptool::model
