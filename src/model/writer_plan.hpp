// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/model_writer.hpp"
#include "model/pattern.hpp"

namespace hiptool::model {

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
struct WriterPlan {
  std::string header;  ///< with its padding
  std::vector<PlannedTensor> tensors;
  std::uint64_t data_bytes = 0;    ///< with padding
  std::uint64_t tensor_bytes = 0;  ///< without
};

/// Decides names, types, sizes and the header. Throws Error(invalid_argument) for unknown types and
/// impossible numbers.
WriterPlan plan_model(const ModelWriterOptions& options);

}  // namespace hiptool::model
