// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

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

}  // namespace hiptool::model
