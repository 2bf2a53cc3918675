// SPDX-License-Identifier: MIT
#include "model/quantization_config.hpp"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.hpp"
#include "model/config_file.hpp"

namespace hiptool::model {
namespace {

using QuantizationJson = nlohmann::json;

const QuantizationJson* object_in(const QuantizationJson& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() || !found->is_object() ? nullptr : &*found;
}

// Larger values are no bits or weights of a group.
constexpr std::uint64_t most_bits = 65'536;
constexpr std::uint64_t most_features = std::uint64_t{1} << 32;

std::uint64_t small_count(const QuantizationJson& json, std::initializer_list<const char*> names,
                          std::uint64_t most = most_bits) {
  for (const char* name : names) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_unsigned()) continue;
    if (const auto value = found->get<std::uint64_t>(); value <= most) return value;
  }
  return 0;
}

// bits: GPTQ, AWQ, MLX, AQLM; w_bit: AWQ's own; num_bits: compressed-tensors; nbits: HQQ.
Quantization quantization_in(const QuantizationJson& json) {
  Quantization found;
  found.bits = small_count(json, {"bits", "w_bit", "num_bits", "nbits"});
  found.group_size = small_count(json, {"group_size", "q_group_size"});
  return found;
}

// Gemma: bits of the modules whose names have a pattern.
void read_patterns(const QuantizationJson& json, QuantizationConfig& config) {
  if (config.method != "gemma") return;
  constexpr std::uint64_t default_bits = 4;
  if (config.usual.bits == 0) config.usual.bits = default_bits;
  const QuantizationJson* modules = object_in(json, "module_quant_configs");
  if (modules == nullptr) return;
  for (const auto& [pattern, options] : modules->items()) {
    const std::uint64_t bits = options.is_object() ? quantization_in(options).bits : 0;
    config.patterns[pattern] = bits > 0 ? bits : config.usual.bits;
  }
}

// The text that a regular expression matches; absent where it matches several texts. A dot counts
// as itself: names of modules have few other letters in its place.
std::optional<std::string> plain_text_of(std::string_view pattern) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    char letter = pattern[i];
    if (letter == '\\' && i + 1 < pattern.size() && pattern[i + 1] == '.') {
      letter = pattern[++i];
    } else if (std::string_view("^$*+?{}[]()|\\").find(letter) != std::string_view::npos) {
      return std::nullopt;
    }
    text += letter;
  }
  return text;
}

// VPTQ: sizes of each layer, and the lengths of its vectors, first of outliers.
void read_layers_of_vptq(const QuantizationJson& json, QuantizationConfig& config) {
  const QuantizationJson* layers = object_in(json, "config_for_layers");
  if (layers == nullptr) return;
  for (const auto& [name, layer] : layers->items()) {
    if (!layer.is_object()) continue;
    Quantization& found = config.by_module[name];
    found.inputs = small_count(layer, {"in_features"}, most_features);
    found.outputs = small_count(layer, {"out_features"}, most_features);
    const auto lengths = layer.find("vector_lens");
    if (lengths == layer.end() || !lengths->is_array() || lengths->size() != 2) continue;
    const QuantizationJson& length = lengths->back();
    if (length.is_number_unsigned() && length <= most_bits) found.vector_length = length;
  }
}

void read_groups(const QuantizationJson& json, QuantizationConfig& config) {
  const QuantizationJson* groups = object_in(json, "config_groups");
  if (groups == nullptr) return;
  for (const auto& group : *groups) {
    const QuantizationJson* weights = group.is_object() ? object_in(group, "weights") : nullptr;
    if (weights == nullptr) continue;
    config.groups.push_back(quantization_in(*weights));
    if (config.usual.bits == 0) config.usual = config.groups.back();
  }
}

void read_quantization(const QuantizationJson& json, QuantizationConfig& config) {
  const auto method = json.find("quant_method");
  if (method != json.end() && method->is_string()) config.method = method->get<std::string>();
  config.usual = quantization_in(json);
  read_groups(json, config);
  read_patterns(json, config);
  read_layers_of_vptq(json, config);
  // HQQ keeps its numbers two levels down.
  if (const auto* hqq = object_in(json, "quant_config")) {
    if (const auto* weights = object_in(*hqq, "weight_quant_params")) {
      config.usual = quantization_in(*weights);
    }
  }
  for (const auto& [name, value] : json.items()) {
    if (!value.is_object()) continue;
    const Quantization own = quantization_in(value);
    if (own.bits > 0) config.by_module[name] = own;
  }
}

const QuantizationJson* quantization_of(const QuantizationJson& json) {
  for (const char* name : {"quantization_config", "quantization"}) {
    if (const auto* found = object_in(json, name)) return found;
  }
  for (const char* part : {"text_config", "llm_config", "language_config"}) {
    const QuantizationJson* inner = object_in(json, part);
    if (inner == nullptr) continue;
    if (const auto* found = object_in(*inner, "quantization_config")) return found;
  }
  return nullptr;
}

}  // namespace

const Quantization& QuantizationConfig::of(std::string_view module) const {
  const auto found = by_module.find(std::string(module));
  return found == by_module.end() ? usual : found->second;
}

std::uint64_t QuantizationConfig::bits_by_pattern(std::string_view module) const {
  std::optional<std::uint64_t> stated;
  bool has_unclear = false;
  bool is_uniform = true;
  for (const auto& [pattern, bits] : patterns) {
    if (bits != usual.bits) is_uniform = false;
    const auto text = plain_text_of(pattern);
    if (!text) has_unclear = true;
    if (!text || module.find(*text) == module.npos) continue;
    if (stated.value_or(bits) != bits) return 0;
    stated = bits;
  }
  if (is_uniform) return usual.bits;
  return has_unclear ? 0 : stated.value_or(usual.bits);
}

bool QuantizationConfig::may_have(std::uint64_t bits) const {
  bool is_stated = usual.bits > 0;
  bool is_found = usual.bits == bits;
  const auto look_at = [&](const Quantization& other) {
    is_stated = is_stated || other.bits > 0;
    is_found = is_found || other.bits == bits;
  };
  for (const Quantization& group : groups) look_at(group);
  for (const auto& [name, own] : by_module) look_at(own);
  return is_found || !is_stated;
}

QuantizationConfig read_quantization_config(const std::filesystem::path& folder) {
  QuantizationConfig config;
  QuantizationJson json;
  // A missing file is not reported, so its possible names are not searched.
  const auto is_read = [&json](const std::filesystem::path& path) {
    return base::is_there(path) && read_config_file(path, json).empty();
  };
  if (is_read(folder / "config.json")) {
    if (const auto* found = quantization_of(json)) {
      read_quantization(*found, config);
      return config;
    }
  }
  for (const char* name : {"quantize_config.json", "quant_config.json"}) {
    if (!is_read(folder / name)) continue;
    read_quantization(json, config);
    break;
  }
  return config;
}

}  // namespace hiptool::model
