// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "model/gguf_cursor.hpp"
#include "model/header_survey.hpp"
#include "model/metadata.hpp"

namespace hiptool::model {

/// What a metadata pair takes at the least: key length, type and a value of one byte.
inline constexpr std::uint64_t smallest_pair_bytes = 8 + 4 + 1;

/// Reads the metadata pairs of a GGUF header and returns the alignment of its data. With a survey
/// the pairs are only checked and go nowhere else.
std::uint64_t read_gguf_metadata(GgufCursor& cursor, std::uint64_t count, Metadata& metadata,
                                 HeaderSurvey* survey);

}  // namespace hiptool::model
