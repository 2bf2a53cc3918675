// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "hiptool/model_file.hpp"
#include "hiptool/verify.hpp"

namespace hiptool::load {

/// Numbers the leaves of all tensors: those of tensor i are [first[i], first[i + 1]).
struct LeafMap {
  explicit LeafMap(const ModelFile& model) {
    first.push_back(0);
    for (const TensorInfo& tensor : model.tensors()) {
      first.push_back(first.back() + (tensor.size_bytes + leaf_bytes - 1) / leaf_bytes);
    }
  }
  std::uint64_t count() const { return first.back(); }

  std::vector<std::uint64_t> first;
};

/// A run of leaves of one tensor.
struct LeafRange {
  std::uint32_t tensor = 0;
  std::uint64_t tensor_offset = 0;  ///< a multiple of leaf_bytes
  std::uint64_t size_bytes = 0;
};

/// Cuts all tensors into ranges of at most `most_bytes` (a multiple of leaf_bytes).
inline std::vector<LeafRange> cut_leaf_ranges(const ModelFile& model, std::uint64_t most_bytes) {
  std::vector<LeafRange> ranges;
  std::uint32_t index = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    for (std::uint64_t offset = 0; offset < tensor.size_bytes; offset += most_bytes) {
      ranges.push_back({index, offset, std::min(most_bytes, tensor.size_bytes - offset)});
    }
    ++index;
  }
  return ranges;
}

}  // namespace hiptool::load
