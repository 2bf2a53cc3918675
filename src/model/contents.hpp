// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hiptool/model_file.hpp"
#include "model/metadata.hpp"
#include "model/name_index.hpp"

namespace hiptool::model {
/// What a parser fills and ModelFile shows.
struct Contents {
  ModelFormat format = ModelFormat::gguf;
  ModelKind kind = ModelKind::model;
  std::uint32_t version = 0;
  std::filesystem::path path;                   // as it was given
  std::optional<std::filesystem::path> folder;  // of the index, else of the first part
  std::vector<ModelPart> parts;
  std::vector<TensorInfo> tensors;
  NameIndex<TensorInfo> index;
  Metadata metadata;  // what it stores in a file stores it in the first part
  std::unordered_map<std::string, ElementType> opaque_types;
  std::vector<std::string> warnings;
  std::uint64_t tensor_bytes = 0;
  std::uint64_t parameters = 0;

  /// The type of that name in the file, which is not known here.
  ElementType opaque_type(std::string_view name) {
    const auto found = opaque_types.find(std::string(name));
    if (found != opaque_types.end()) return found->second;
    struct Owned {
      std::string name;
      ElementType::Entry entry;
    };
    const auto owned = std::make_shared<Owned>(Owned{"opaque(" + std::string(name) + ")", {}});
    owned->entry = {owned->name, 1, 0};
    const ElementType type(std::shared_ptr<const ElementType::Entry>(owned, &owned->entry));
    opaque_types.emplace(name, type);
    return type;
  }
};

}  // namespace hiptool::model
