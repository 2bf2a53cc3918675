// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "model_writer/pattern.hpp"

namespace hiptool::model_writer {

/// Whether a type's values are numbers that a decoder can compute with.
bool can_be_weights(std::string_view type);
/// Every such type of GGUF or of safetensors, in the order of the tables.
std::vector<std::string_view> weight_types(bool is_gguf);

/// The exponent of MXFP4's blocks for such a magnitude, as files have it.
int packed_exponent(int magnitude);

/// Random values of that type whose root mean square is about 2^magnitude (within a factor of 2
/// where the type can represent that). A plain type has both signs and an exponent of
/// `magnitude`: +-2^magnitude x [1, 2). `is_positive`: of F32, without signs.
Pattern weight_pattern(std::string_view type, std::uint32_t block_bytes, std::uint64_t seed,
                       int magnitude, bool is_positive = false);

}  // namespace hiptool::model_writer
