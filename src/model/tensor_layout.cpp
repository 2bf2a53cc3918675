// SPDX-License-Identifier: MIT
#include "model/tensor_layout.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "model/text.hpp"

namespace hiptool::model {
namespace {

bool comes_before(const TensorInfo& left, const TensorInfo& right) {
  return std::pair(left.file_offset, left.size_bytes) <
         std::pair(right.file_offset, right.size_bytes);
}

// Entries with equal ranges keep the order of the header.
bool range_comes_before(const TensorRange& left, const TensorRange& right) {
  return std::tuple(left.offset, left.size_bytes, std::uint64_t{left.header_offset}) <
         std::tuple(right.offset, right.size_bytes, std::uint64_t{right.header_offset});
}

}  // namespace

void sort_by_offset(std::vector<TensorRange>& ranges) {
  if (std::ranges::is_sorted(ranges, range_comes_before)) return;
  std::ranges::sort(ranges, range_comes_before);
}

void sort_by_offset(Contents& contents, std::size_t first) {
  const std::span<TensorInfo> tensors = std::span(contents.tensors).subspan(first);
  if (std::ranges::is_sorted(tensors, comes_before)) return;
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t left, std::size_t right) {
    if (comes_before(tensors[left], tensors[right])) return true;
    return !comes_before(tensors[right], tensors[left]) && left < right;
  });
  // Along each cycle of the permutation, so that no second vector of tensors is needed.
  for (std::size_t start = 0; start < order.size(); ++start) {
    if (order[start] == start) continue;
    TensorInfo tensor = std::move(tensors[start]);
    std::size_t hole = start;
    while (order[hole] != start) {
      const std::size_t source = std::exchange(order[hole], hole);
      tensors[hole] = std::move(tensors[source]);
      hole = source;
    }
    order[hole] = hole;
    tensors[hole] = std::move(tensor);
  }
}

void index_names(Contents& contents, std::size_t first, const std::vector<TensorRange>& ranges,
                 const Diagnostics& diagnostics, std::vector<std::size_t>* copies) {
  contents.index.reserve(contents.tensors.size());
  for (std::size_t position = first; position < contents.tensors.size(); ++position) {
    if (contents.index.insert(contents.tensors, position)) continue;
    const TensorInfo& tensor = contents.tensors[position];
    const TensorInfo& other = *contents.index.find(contents.tensors, tensor.name);
    const Place place{"tensor", tensor.name, ranges[position - first].header_offset};
    if (other.file == tensor.file) diagnostics.corrupt(place, "the name appears twice");
    if (copies != nullptr) {
      copies->push_back(position);
      continue;
    }
    diagnostics.corrupt(place, "a tensor of this name is also in " +
                                   in_quotes(contents.parts[other.file].path.filename().string()));
  }
}

}  // namespace hiptool::model
