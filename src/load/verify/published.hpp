// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "hiptool/load_report.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// The SHA-256 that is published for each file of the model (see model::find_file_hash); those
/// given if there are any. Throws Error(invalid_argument) for a file without one, for a text that
/// is not a SHA-256 and for another number of them than of files, Error(corrupt_data) for lists
/// that contradict themselves.
std::vector<PublishedHash> find_published(const ModelFile& model,
                                          std::span<const std::string> given = {});

/// Fills in the hashes that were found, by index of ModelFile::files(). Throws
/// Error(manifest_mismatch) for the first file whose hash is not the published one.
void check_published(const ModelFile& model, const std::vector<std::string>& found,
                     std::span<PublishedHash> published);

}  // namespace hiptool::load
