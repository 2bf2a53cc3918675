// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string_view>

#include "base/file.hpp"
#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

inline constexpr std::string_view gguf_magic = "GGUF";

/// Reads the header of a GGUF file of version 2 or 3, the last of the contents' parts, and adds its
/// tensors. The metadata goes where the caller says: only the metadata of a set's first file
/// counts. Limits are llama.cpp's (ggml/src/gguf.cpp). Returns where the file's last tensor ends.
std::uint64_t parse_gguf(const base::File& file, bool opaque, Diagnostics& diagnostics,
                         Metadata& metadata, Contents& contents);

/// Bytes of the file after the data, which end there, and their padding to the alignment.
std::uint64_t bytes_after_gguf(std::uint64_t file_bytes, std::uint64_t data_end,
                               std::uint64_t alignment);

/// Reads a GGUF model: the file, or all files of the set that it is one of (llama.cpp's gguf-split:
/// keys split.no, split.count, split.tensors.count; names PREFIX-00001-of-00003.gguf).
void parse_gguf_model(const std::filesystem::path& path, bool opaque, Diagnostics& diagnostics,
                      Contents& contents);

/// What only a whole model can lack: keys that the specification wants.
void check_gguf_model(Diagnostics& diagnostics, const Contents& contents);

}  // namespace hiptool::model
