// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/byte_range.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::load {

/// Bytes of a block, the unit of digests and mismatches; the last block of a tensor is shorter.
inline constexpr std::uint64_t block_bytes = 16u << 10;

/// Numbers the blocks of all tensors: tensor i has [first[i], first[i + 1]).
struct BlockMap {
  explicit BlockMap(const ModelFile& model) {
    first.push_back(0);
    for (const TensorInfo& tensor : model.tensors()) {
      first.push_back(first.back() + (tensor.size_bytes + block_bytes - 1) / block_bytes);
    }
  }
  std::uint64_t count() const { return first.back(); }

  std::vector<std::uint64_t> first;
};

/// A run of blocks of one tensor.
struct BlockRange {
  std::uint32_t tensor = 0;
  base::ByteRange bytes;  ///< of the tensor; the offset is a multiple of block_bytes
};

/// Cuts all tensors into ranges of at most `most_bytes` (a multiple of block_bytes).
inline std::vector<BlockRange> cut_block_ranges(const ModelFile& model, std::uint64_t most_bytes) {
  std::vector<BlockRange> ranges;
  std::uint32_t index = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    for (std::uint64_t offset = 0; offset < tensor.size_bytes; offset += most_bytes) {
      ranges.push_back({index, {offset, std::min(most_bytes, tensor.size_bytes - offset)}});
    }
    ++index;
  }
  return ranges;
}

}  // namespace hiptool::load
