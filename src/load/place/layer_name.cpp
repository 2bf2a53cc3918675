// SPDX-License-Identifier: MIT
#include "load/place/layer_name.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

namespace hiptool::load {
namespace {

constexpr std::array<std::string_view, 3> list_names{"blk", "layers", "h"};
constexpr std::array<std::string_view, 3> towers{"vision", "visual", "audio"};
constexpr std::array<std::string_view, 6> output_names{"output", "output_norm", "lm_head",
                                                       "norm",   "ln_f",        "final_layernorm"};

template <std::size_t size>
bool is_one_of(std::string_view word, const std::array<std::string_view, size>& words) {
  for (const std::string_view candidate : words) {
    if (word == candidate) return true;
  }
  return false;
}

bool is_tower(std::string_view part) {
  for (const std::string_view tower : towers) {
    if (part.find(tower) != std::string_view::npos) return true;
  }
  return false;
}

std::optional<std::uint64_t> parse_index(std::string_view text) {
  std::uint64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return index;
}

}  // namespace

LayerName read_layer_name(std::string_view tensor) noexcept {
  bool is_output = false;
  std::string_view before;
  for (std::size_t start = 0; start <= tensor.size();) {
    const std::size_t dot = std::min(tensor.find('.', start), tensor.size());
    const std::string_view part = tensor.substr(start, dot - start);
    if (is_tower(part)) return {};
    if (dot < tensor.size() && is_one_of(before, list_names)) {
      if (const auto index = parse_index(part)) return {Section::layer, *index};
    }
    if (is_one_of(part, output_names)) is_output = true;
    before = part;
    start = dot + 1;
  }
  return {is_output ? Section::after_layers : Section::before_layers, 0};
}

}  // namespace hiptool::load
