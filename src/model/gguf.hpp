// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "base/file.hpp"
#include "model/contents.hpp"
#include "model/diagnostics.hpp"

namespace hiptool::model {

inline constexpr std::string_view gguf_magic = "GGUF";

/// The keys of a split model.
inline constexpr std::string_view split_number_key = "split.no";
inline constexpr std::string_view split_count_key = "split.count";
inline constexpr std::string_view split_tensors_key = "split.tensors.count";

/// Reads the header of a GGUF file of version 2 or 3, the last of the contents' parts, and adds its
/// tensors. The metadata goes where the caller says: only that of a set's first file counts. Limits
/// are llama.cpp's (ggml/src/gguf.cpp).
void parse_gguf(const base::File& file, bool opaque, Diagnostics& diagnostics, Metadata& metadata,
                Contents& contents);

/// What only a whole model can lack: keys that the specification wants.
void check_gguf_model(Diagnostics& diagnostics, const Contents& contents);

}  // namespace hiptool::model
