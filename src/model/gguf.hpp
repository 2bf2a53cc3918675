// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "base/file.hpp"
#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

inline constexpr std::string_view gguf_magic = "GGUF";

/// Reads the header of a GGUF file of version 2 or 3. Limits are llama.cpp's (ggml/src/gguf.cpp).
void parse_gguf(const base::File& file, Diagnostics& diagnostics, ModelFile::Contents& contents);

}  // namespace hiptool::model
