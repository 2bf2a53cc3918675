// SPDX-License-Identifier: MIT
#include "model/layer_sizes.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace hiptool::model {
namespace {

struct TensorPlace {
  std::string_view stack;
  std::optional<std::uint64_t> layer;
};

TensorPlace layer_place_of(std::string_view tensor) {
  for (std::size_t start = 0; start <= tensor.size();) {
    const std::size_t dot = std::min(tensor.find('.', start), tensor.size());
    const auto number = base::parse_number<std::uint64_t>(tensor.substr(start, dot - start));
    if (number && start > 0 && dot < tensor.size()) {
      return {tensor.substr(0, start - 1), number};
    }
    start = dot + 1;
  }
  const std::size_t end = tensor.rfind('.');
  return {tensor.substr(0, end == 0 ? std::string_view::npos : end), std::nullopt};
}

/// What a layer consists of, by element type.
struct Amount {
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;
  std::uint64_t size_bytes = 0;
  auto operator<=>(const Amount&) const = default;
};
using LayerContents = std::map<std::string_view, Amount>;

void add(const TensorInfo& tensor, LayerContents& contents) {
  Amount& amount = contents[tensor.type.name()];
  ++amount.tensors;
  amount.parameters += tensor.elements;
  amount.size_bytes += tensor.size_bytes;
}

void add(const LayerContents& contents, LayerGroup& group) {
  for (const auto& [type, amount] : contents) {
    group.tensors += amount.tensors;
    group.parameters += amount.parameters;
    group.size_bytes += amount.size_bytes;
  }
}

// Layers of a stack as groups, that of the first layer first.
void add_groups(std::string_view stack, const std::map<std::uint64_t, LayerContents>& layers,
                std::vector<LayerGroup>& groups) {
  std::map<LayerContents, std::size_t> known;
  for (const auto& [layer, contents] : layers) {
    const auto [found, is_new] = known.try_emplace(contents, groups.size());
    if (is_new) groups.push_back({std::string(stack), {}, 0, 0, 0});
    LayerGroup& group = groups[found->second];
    group.layers.push_back(layer);
    add(contents, group);
  }
}

}  // namespace

std::vector<LayerGroup> group_layers(const ModelFile& model) {
  std::vector<std::pair<std::string_view, bool>> order;  // a stack, or a name outside of layers
  std::map<std::string_view, std::map<std::uint64_t, LayerContents>> stacks;
  std::map<std::string_view, LayerContents> others;
  for (const TensorInfo& tensor : model.tensors()) {
    const TensorPlace place = layer_place_of(tensor.name);
    if (place.layer) {
      const auto [stack, is_new] = stacks.try_emplace(place.stack);
      if (is_new) order.emplace_back(place.stack, true);
      add(tensor, stack->second[*place.layer]);
    } else {
      const auto [other, is_new] = others.try_emplace(place.stack);
      if (is_new) order.emplace_back(place.stack, false);
      add(tensor, other->second);
    }
  }
  std::vector<LayerGroup> groups;
  for (const auto& [name, is_stack] : order) {
    if (is_stack) {
      add_groups(name, stacks.at(name), groups);
    } else {
      add(others.at(name), groups.emplace_back(LayerGroup{std::string(name), {}, 0, 0, 0}));
    }
  }
  return groups;
}

}  // namespace hiptool::model
