// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

namespace hiptool::fuzz {

/// Opens the path as a model in every mode of reading and uses all that was accepted: tensors,
/// extents, metadata, summary. Ends the process unless each refusal is one of a bad file in one
/// line, each tensor lies inside its file, apart from the others, the modes agree, and all files
/// are below `root`, which is the folder of the path unless it is given.
void check_model(const std::filesystem::path& path, const std::filesystem::path& root = {});

}  // namespace hiptool::fuzz
