// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>

#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// The index beside a file that is named like a shard (NAME-00001-of-00002.safetensors) and listed
/// in it. Nothing for other files.
std::optional<std::filesystem::path> find_index(const std::filesystem::path& path,
                                                Diagnostics& diagnostics);

/// Reads the set that an index (model.safetensors.index.json) lists, its files sorted by name.
void parse_safetensors_index(const std::filesystem::path& path, bool opaque,
                             Diagnostics& diagnostics, Contents& contents);

}  // namespace hiptool::model
