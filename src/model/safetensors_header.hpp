// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

/// Reads the JSON text of a safetensors header, which starts at that offset of its file. Adds the
/// tensors (their offsets relative to the data) and the metadata to the contents, and for each
/// tensor the file offset of its entry.
void read_safetensors_header(std::string_view json, std::uint64_t json_offset,
                             Diagnostics& diagnostics, ModelFile::Contents& contents,
                             std::vector<std::uint64_t>& header_offsets);

}  // namespace hiptool::model
