// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::model {

/// The name of one file of a set: PREFIX-00001-of-00003SUFFIX, as gguf-split writes it; Hugging
/// Face's sets have five or six digits.
struct ShardName {
  std::string prefix;
  std::uint32_t number = 0;  ///< from 1
  std::uint32_t total = 0;
  std::string suffix;  ///< ".gguf"
  std::size_t digits = 5;

  /// The file name of that shard of the set.
  std::string of(std::uint32_t other_number) const;
  /// Names of an index of the set, the usual one first: "model.fp16.safetensors.index.json", and as
  /// transformers names a variant, "model.safetensors.index.fp16.json".
  std::vector<std::string> indexes() const;
};

/// True for "NAME.safetensors.index.json", also with a variant in front of ".json".
bool is_index_name(std::string_view file_name);

/// Nothing when the file name has another form, or its numbers cannot be: 0, or above the total.
std::optional<ShardName> parse_shard_name(std::string_view file_name);

}  // namespace hiptool::model
