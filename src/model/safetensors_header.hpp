// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "model/diagnostics.hpp"
#include "model/element_types.hpp"
#include "model/metadata.hpp"

namespace hiptool::model {

/// One tensor of a safetensors header, its size found equal to its range. Offsets count from the
/// start of the data.
struct SafetensorsEntry {
  std::string name;
  std::uint64_t header_offset = 0;  ///< of the name, in the file
  std::string type_name;
  const SafetensorsType* type = nullptr;  ///< null: unknown, which only opaque reading accepts
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Receives what a header holds, in its order.
struct SafetensorsSink {
  /// False when a tensor of that name came before.
  std::function<bool(const SafetensorsEntry& entry)> take_tensor;
  /// False when the key came before.
  std::function<bool(MetadataItem item)> take_metadata;
};

/// Reads the JSON text of a safetensors header, which is that range of its file.
void read_safetensors_header(const base::File& file, std::uint64_t begin, std::uint64_t end,
                             bool opaque, Diagnostics& diagnostics, const SafetensorsSink& sink);

}  // namespace hiptool::model
