// SPDX-License-Identifier: MIT
#include "model/layer_sizes.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace hiptool::model {
namespace {

// No model has as many: what is beyond them is one group, so that a header of a million names takes
// neither memory nor lines for each.
constexpr std::size_t most_grouped_names = 1000;
constexpr std::size_t most_grouped_layers = 10'000;

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
  amount.parameters += tensor.weights;
  amount.size_bytes += tensor.size_bytes;
}

void add(const LayerContents& contents, LayerGroup& group) {
  for (const auto& [type, amount] : contents) {
    group.tensors += amount.tensors;
    group.parameters += amount.parameters;
    group.size_bytes += amount.size_bytes;
  }
}

// Layers of a stack as groups, beginning with the first layer.
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
  LayerContents rest;
  std::size_t layers = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    const TensorPlace place = layer_place_of(tensor.name);
    const bool has_name = place.layer ? stacks.contains(place.stack) : others.contains(place.stack);
    if (!has_name && order.size() == most_grouped_names) {
      add(tensor, rest);
      continue;
    }
    if (!has_name) order.emplace_back(place.stack, place.layer.has_value());
    if (!place.layer) {
      add(tensor, others[place.stack]);
      continue;
    }
    auto& stack = stacks[place.stack];
    const bool has_layer = stack.contains(*place.layer);
    if (!has_layer && layers == most_grouped_layers) {
      add(tensor, rest);
    } else {
      layers += has_layer ? 0 : 1;
      add(tensor, stack[*place.layer]);
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
  if (!rest.empty()) add(rest, groups.emplace_back(LayerGroup{"(others)", {}, 0, 0, 0}));
  return groups;
}

}  // namespace hiptool::model
