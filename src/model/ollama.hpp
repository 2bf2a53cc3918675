// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "base/file.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// The blob that holds the model of a manifest of Ollama or Docker Model Runner: a list of layers,
/// one of them of a media type such as application/vnd.ollama.image.model or
/// application/vnd.docker.ai.gguf.v3. Searched for in the folder of the manifest and in a folder
/// `blobs` there or above, as sha256-HEX (Ollama) and sha256/HEX (OCI). Refused when there is none
/// or several, or its size differs from the layer's.
std::filesystem::path find_ollama_blob(const base::File& manifest, const Diagnostics& diagnostics);

/// The text of the license layer of a manifest, at most 1 MiB; absent if the file is no manifest,
/// has no such layer or its blob is missing.
std::optional<std::string> read_ollama_license(const std::filesystem::path& manifest);

}  // namespace hiptool::model
