// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "hiptool/model_file.hpp"
#include "model/name_index.hpp"

namespace hiptool {
namespace model {

/// An array value: its elements stay in the file. Vocabularies are most of a GGUF header and the
/// tool never looks at their contents.
struct StoredArray {
  std::uint32_t type = 0;  ///< GGUF's number of the element type
  std::uint64_t count = 0;
  std::uint64_t file_offset = 0;  ///< of the first element
};

/// A text too long to keep; read when it is asked for.
struct StoredText {
  std::uint64_t file_offset = 0;
  std::uint64_t size_bytes = 0;
};

using Value =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string, StoredArray, StoredText>;

}  // namespace model

/// What a parser fills and ModelFile shows.
struct ModelFile::Contents {
  ModelFormat format = ModelFormat::gguf;
  std::uint32_t version = 0;
  std::vector<ModelPart> parts;
  std::vector<TensorInfo> tensors;
  model::NameIndex index;
  std::unordered_map<std::string, model::Value> metadata;
  std::vector<std::string> warnings;
  std::uint64_t tensor_bytes = 0;
  std::uint64_t parameters = 0;
};

}  // namespace hiptool
