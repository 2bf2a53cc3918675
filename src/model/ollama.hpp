// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "base/file.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// The blob that holds the model of an Ollama manifest (a list of layers, one of them of media type
/// application/vnd.ollama.image.model). Searched for in the folder of the manifest and in
/// a folder `blobs` there or above. Refused when there is none or several, or its size is not that
/// of the layer.
std::filesystem::path find_ollama_blob(const base::File& manifest, const Diagnostics& diagnostics);

}  // namespace hiptool::model
