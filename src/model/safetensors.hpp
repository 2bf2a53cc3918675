// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/file.hpp"
#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// The reference reader's limit for the JSON header.
inline constexpr std::uint64_t most_safetensors_header_bytes = 100'000'000;

/// Reads the header of a safetensors file, the last of the contents' parts, and adds what it holds.
/// The rules are the reference reader's (safetensors tensor.rs); duplicate keys, which its
/// README forbids, are refused too. With `copies` the positions of tensors that a file before has
/// too go there; without it they are refused.
void parse_safetensors(const base::File& file, bool opaque, Diagnostics& diagnostics,
                       Contents& contents, std::vector<std::size_t>* copies = nullptr);

/// Reads a safetensors model: the file, or the set of the index in its folder if the file is named
/// like a shard (NAME-00001-of-00002.safetensors) and the index lists it.
void parse_safetensors_model(const std::filesystem::path& path, bool opaque,
                             Diagnostics& diagnostics, Contents& contents);

/// Reads the set that an index (model.safetensors.index.json) lists, its files sorted by name.
void parse_safetensors_index(const std::filesystem::path& path, bool opaque,
                             Diagnostics& diagnostics, Contents& contents);

}  // namespace hiptool::model
