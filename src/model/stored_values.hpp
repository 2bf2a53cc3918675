// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "model/metadata.hpp"

namespace hiptool::model {

/// GGUF's name of a value type: "u32", "string".
std::string_view type_name(GgufValueType type) noexcept;

std::string read_text(const base::File& file, const StoredText& text);
/// The elements of an array of a parsed file, nothing when they are of another type.
std::optional<std::vector<std::int64_t>> read_integers(const base::File& file,
                                                       const StoredArray& array);
std::optional<std::vector<double>> read_reals(const base::File& file, const StoredArray& array);
std::optional<std::vector<bool>> read_booleans(const base::File& file, const StoredArray& array);
/// At most `count` texts from the one at `first`.
std::optional<std::vector<std::string>> read_texts(const base::File& file, const StoredArray& array,
                                                   std::uint64_t first, std::uint64_t count);

}  // namespace hiptool::model
