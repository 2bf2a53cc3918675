// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "hiptool/model_file.hpp"
#include "input.hpp"

namespace hiptool::fuzz {

/// Opens the path as a model and uses all that was accepted: tensors, extents, metadata, summary.
/// Some inputs are read in every mode. Ends the process unless each refusal is one of a bad file in
/// one line, each tensor lies inside its file, apart from the others, the modes agree, and all
/// files are below `root`, which is the folder of the path unless it is given.
void check_model(const Input& input, const std::filesystem::path& path,
                 const std::filesystem::path& root = {});

/// Summarizes the model. Ends the process unless the numbers of the summary fit each other.
void check_summary(const ModelFile& model);

}  // namespace hiptool::fuzz
