// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "model/tensor_layout.hpp"

namespace hiptool::model {

/// Where the data of a GGUF file lie.
struct GgufData {
  std::uint64_t start = 0;  ///< absolute
  std::uint64_t alignment = 0;
  std::uint64_t file_bytes = 0;
};

/// Checks the ranges, which come in the header's order with offsets from the start of the data:
/// alignment, inside the file, no overlap. Brings them into the order of their data, makes their
/// offsets absolute and gives those of unknown type what is up to the next tensor.
void lay_out_gguf(std::vector<TensorRange>& ranges, const GgufData& data, const NameAt& name_at,
                  Diagnostics& diagnostics);

}  // namespace hiptool::model
