// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// The SHA-256 that is published for each file of the model: in the name of a blob of the Hugging
/// Face cache or of Ollama, or in .cache/huggingface/download beside a download. Throws
/// Error(invalid_argument) for a file without one.
std::vector<PublishedHash> find_published(const ModelFile& model);

/// Fills in the hashes that were found, by index of ModelFile::files(). Throws
/// Error(manifest_mismatch) for the first file whose hash is not the published one.
void check_published(const ModelFile& model, const std::vector<std::string>& found,
                     std::span<PublishedHash> published);

}  // namespace hiptool::load
