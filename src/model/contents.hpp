// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "hiptool/model_file.hpp"
#include "model/metadata.hpp"
#include "model/name_index.hpp"

namespace hiptool {
namespace model {

/// A tensor type that is not known; tensors point at it.
struct OpaqueType {
  std::string name;
  ElementType::Entry entry{};
};

}  // namespace model

/// What a parser fills and ModelFile shows.
struct ModelFile::Contents {
  ModelFormat format = ModelFormat::gguf;
  std::uint32_t version = 0;
  std::filesystem::path path;  // as it was given
  std::vector<ModelPart> parts;
  std::vector<TensorInfo> tensors;
  model::NameIndex<TensorInfo> index;
  model::Metadata metadata;  // what it stores in a file stores it in the first part
  std::deque<model::OpaqueType> opaque_types;
  std::vector<std::string> warnings;
  std::uint64_t tensor_bytes = 0;
  std::uint64_t parameters = 0;
};

}  // namespace hiptool
