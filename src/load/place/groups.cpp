// SPDX-License-Identifier: MIT
#include "load/place/groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "load/place/layer_name.hpp"

namespace hiptool::load {
namespace {

using Sections = std::map<LayerName, TensorGroup>;

std::vector<std::uint32_t> file_order(std::span<const TensorInfo> tensors) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

// Adds the tensors to their sections; layers from this number on count as before the layers.
GroupedTensors group_by_section(std::span<const TensorInfo> tensors, Sections& sections,
                                std::uint64_t end_of_layers) {
  std::vector<LayerName> names;
  for (const TensorInfo& tensor : tensors) {
    LayerName name = read_layer_name(tensor.name);
    if (name.section == Section::layer && name.layer >= end_of_layers) name = {};
    sections[name] += group_of(tensor);
    names.push_back(name);
  }
  GroupedTensors grouped{{}, file_order(tensors)};
  std::stable_sort(
      grouped.order.begin(), grouped.order.end(),
      [&](std::uint32_t left, std::uint32_t right) { return names[left] < names[right]; });
  for (const auto& entry : sections) grouped.groups.push_back(entry.second);
  return grouped;
}

}  // namespace

TensorGroup& TensorGroup::operator+=(const TensorGroup& other) {
  tensors += other.tensors;
  tensor_bytes += other.tensor_bytes;
  weights_bytes += other.weights_bytes;
  kv_cache_bytes += other.kv_cache_bytes;
  state_bytes += other.state_bytes;
  return *this;
}

TensorGroup group_of(const TensorInfo& tensor) {
  // Cannot overflow: each size was checked against its file.
  const std::uint64_t aligned_bytes = (tensor.size_bytes + tensor_alignment_bytes - 1) /
                                      tensor_alignment_bytes * tensor_alignment_bytes;
  return {1, tensor.size_bytes, aligned_bytes, 0, 0};
}

GroupedTensors group_by_tensor(std::span<const TensorInfo> tensors) {
  GroupedTensors grouped{{}, file_order(tensors)};
  for (const TensorInfo& tensor : tensors) grouped.groups.push_back(group_of(tensor));
  return grouped;
}

GroupedTensors group_by_layer(std::span<const TensorInfo> tensors) {
  Sections sections;
  GroupedTensors grouped = group_by_section(tensors, sections, UINT64_MAX);
  auto& groups = grouped.groups;
  const bool has_before = sections.contains({Section::before_layers});
  const bool has_after = sections.contains({Section::after_layers});
  if (groups.size() == std::size_t{has_before} + std::size_t{has_after}) return {};
  if (has_before) {
    groups[1] += groups[0];
    groups.erase(groups.begin());
  }
  if (has_after) {
    *(groups.end() - 2) += groups.back();
    groups.pop_back();
  }
  return grouped;
}

GroupedTensors group_with_cache(std::span<const TensorInfo> tensors,
                                std::span<const LayerBytes> layer_bytes) {
  Sections sections{{{Section::before_layers}, {}}, {{Section::after_layers}, {}}};
  for (std::size_t i = 0; i < layer_bytes.size(); ++i) {
    TensorGroup& group = sections[{Section::layer, i}];
    group.kv_cache_bytes = layer_bytes[i].kv_cache;
    group.state_bytes = layer_bytes[i].state;
  }
  return group_by_section(tensors, sections, layer_bytes.size());
}

}  // namespace hiptool::load
