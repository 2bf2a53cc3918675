// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// Reads a GGUF model: the file, or all files of the set that it is one of (llama.cpp's gguf-split:
/// keys split.no, split.count, split.tensors.count; names PREFIX-00001-of-00003.gguf).
void parse_gguf_model(const std::filesystem::path& path, bool opaque, Diagnostics& diagnostics,
                      Contents& contents);

}  // namespace hiptool::model
