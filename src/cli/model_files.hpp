// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "cli/distinct_files.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::cli {

/// The files that a run must not replace because it reads a model: its parts, and in their folders
/// and the one of `path` every file that is named as a model's file, index, configuration or
/// tokenizer. Without a model, because it could not be opened, the files at `path`.
std::vector<NamedFile> files_of_model(const std::string& path, const ModelFile* model);

}  // namespace hiptool::cli
