// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// The blob that holds the model of an Ollama manifest (a list of layers, one of them of media type
/// application/vnd.ollama.image.model). Searched for in the folder of the manifest and in
/// a folder `blobs` there or above. Refused when there is none or several, or its size is not that
/// of the layer.
std::filesystem::path find_ollama_blob(const base::File& manifest, const Diagnostics& diagnostics);

/// The text of another layer of a manifest, "license", "template" or "system", at most 1 MiB;
/// absent if the file is no manifest, has no such layer or its blob is missing.
std::optional<std::string> read_ollama_text(const std::filesystem::path& manifest,
                                            std::string_view kind);

}  // namespace hiptool::model
