// SPDX-License-Identifier: MIT
#include "model/tensor_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "model/text.hpp"

namespace hiptool::model {
namespace {

bool comes_before(const TensorInfo& left, const TensorInfo& right) {
  return std::pair(left.file_offset, left.size_bytes) <
         std::pair(right.file_offset, right.size_bytes);
}

}  // namespace

void sort_by_offset(ModelFile::Contents& contents, std::vector<std::uint64_t>& header_offsets) {
  std::vector<TensorInfo>& tensors = contents.tensors;
  if (std::is_sorted(tensors.begin(), tensors.end(), comes_before)) return;
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    if (comes_before(tensors[left], tensors[right])) return true;
    return !comes_before(tensors[right], tensors[left]) && left < right;
  });
  std::vector<TensorInfo> sorted;
  std::vector<std::uint64_t> sorted_offsets;
  sorted.reserve(tensors.size());
  sorted_offsets.reserve(tensors.size());
  for (const std::size_t position : order) {
    sorted.push_back(std::move(tensors[position]));
    sorted_offsets.push_back(header_offsets[position]);
  }
  tensors = std::move(sorted);
  header_offsets = std::move(sorted_offsets);
  contents.index.clear();
  for (std::size_t position = 0; position < tensors.size(); ++position) {
    contents.index.insert(tensors, position);
  }
}

void check_no_overlap(const std::vector<TensorInfo>& tensors,
                      const std::vector<std::uint64_t>& header_offsets,
                      const Diagnostics& diagnostics) {
  for (std::size_t position = 1; position < tensors.size(); ++position) {
    const TensorInfo& previous = tensors[position - 1];
    const TensorInfo& tensor = tensors[position];
    const std::uint64_t end = previous.file_offset + previous.size_bytes;
    if (tensor.file_offset >= end) continue;
    diagnostics.corrupt({"tensor", tensor.name, header_offsets[position]},
                        "offset " + std::to_string(tensor.file_offset) + " overlaps tensor " +
                            in_quotes(previous.name) + ", which ends at " + std::to_string(end));
  }
}

}  // namespace hiptool::model
