// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/element_types.hpp"
#include "model_writer/model_writer.hpp"
#include "model_writer/pattern.hpp"

namespace hiptool::model_writer {

/// A type of either format: elements and bytes of its smallest unit, and how to fill them.
struct PlannedType {
  std::string_view name;
  std::uint64_t elements = 1;
  std::uint64_t bytes = 1;
  const model::GgufType* gguf = nullptr;
  const model::SafetensorsType* safetensors = nullptr;
};

/// A tensor to be written.
struct PlannedTensor {
  std::string name;
  std::string type;                  ///< the format's name
  std::uint32_t type_id = 0;         ///< GGUF's number
  std::vector<std::uint64_t> shape;  ///< as the format writes it
  std::uint64_t offset = 0;          ///< from the start of the data
  std::uint64_t size_bytes = 0;
  Pattern pattern;
};

/// A file to be written: its header, then its tensors in the order of their data.
struct PlannedFile {
  std::filesystem::path path;
  std::string header;  ///< with its padding; of an index the whole text
  std::vector<PlannedTensor> tensors;
  std::uint64_t data_bytes = 0;  ///< with padding

  std::uint64_t size_bytes() const { return header.size() + data_bytes; }
};

/// A model to be written: its shards in order, then other files.
struct WriterPlan {
  std::vector<PlannedFile> files;
  std::size_t entry = 0;  ///< which of the files readers open
  std::uint32_t tensors = 0;
  std::uint64_t tensor_bytes = 0;  ///< without padding
};

/// Chooses names, types and sizes, and makes the headers. Throws Error(invalid_argument) for
/// unknown types and numbers out of range.
WriterPlan plan_model(const ModelWriterOptions& options);

}  // namespace hiptool::model_writer
