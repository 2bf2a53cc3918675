// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/file.hpp"
#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// The reference reader's limit for the JSON header.
inline constexpr std::uint64_t most_safetensors_header_bytes = 100'000'000;

/// Reads the header of a safetensors file, the last of the contents' parts, and adds what it holds.
/// The rules are those of the reference reader (safetensors tensor.rs); duplicate keys, which its
/// README forbids, are refused too.
void parse_safetensors(const base::File& file, bool opaque, Diagnostics& diagnostics,
                       Contents& contents);

/// The index in the folder of a file that is named like a shard (NAME-00001-of-00002.safetensors)
/// and listed in it. Nothing for other files.
std::optional<std::filesystem::path> find_index(const std::filesystem::path& path,
                                                Diagnostics& diagnostics);

/// Reads the set that an index (model.safetensors.index.json) lists, its files sorted by name.
void parse_safetensors_index(const std::filesystem::path& path, bool opaque,
                             Diagnostics& diagnostics, Contents& contents);

}  // namespace hiptool::model
