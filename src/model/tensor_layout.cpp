// SPDX-License-Identifier: MIT
#include "model/tensor_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
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

void sort_by_offset(ModelFile::Contents& contents, std::size_t first,
                    std::vector<std::uint64_t>& header_offsets) {
  const std::span<TensorInfo> tensors = std::span(contents.tensors).subspan(first);
  if (std::is_sorted(tensors.begin(), tensors.end(), comes_before)) return;
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    if (comes_before(tensors[left], tensors[right])) return true;
    return !comes_before(tensors[right], tensors[left]) && left < right;
  });
  // Along each cycle of the permutation, so that no second vector of tensors is needed.
  for (std::size_t start = 0; start < order.size(); ++start) {
    if (order[start] == start) continue;
    TensorInfo tensor = std::move(tensors[start]);
    const std::uint64_t header_offset = header_offsets[start];
    std::size_t hole = start;
    while (order[hole] != start) {
      const std::size_t source = std::exchange(order[hole], hole);
      tensors[hole] = std::move(tensors[source]);
      header_offsets[hole] = header_offsets[source];
      hole = source;
    }
    order[hole] = hole;
    tensors[hole] = std::move(tensor);
    header_offsets[hole] = header_offset;
  }
}

void index_names(ModelFile::Contents& contents, std::size_t first,
                 const std::vector<std::uint64_t>& header_offsets, const Diagnostics& diagnostics) {
  for (std::size_t position = first; position < contents.tensors.size(); ++position) {
    if (contents.index.insert(contents.tensors, position)) continue;
    const TensorInfo& tensor = contents.tensors[position];
    const TensorInfo& other = *contents.index.find(contents.tensors, tensor.name);
    const Place place{"tensor", tensor.name, header_offsets[position - first]};
    if (other.file == tensor.file) diagnostics.corrupt(place, "the name is there twice");
    diagnostics.corrupt(place, "a tensor of this name is also in " +
                                   in_quotes(contents.parts[other.file].path.filename().string()));
  }
}

}  // namespace hiptool::model
