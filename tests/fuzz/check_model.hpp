// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

namespace hiptool::fuzz {

/// Opens the path as a model in every mode of reading and uses all that was accepted: tensors,
/// extents, metadata, summary. Ends the process unless each refusal is one of a bad file in one
/// line, each tensor lies inside its file, apart from the others, and the modes agree.
void check_model(const std::filesystem::path& path);

}  // namespace hiptool::fuzz
