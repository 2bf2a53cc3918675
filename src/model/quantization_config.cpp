// SPDX-License-Identifier: MIT
#include "model/quantization_config.hpp"

#include <initializer_list>
#include <nlohmann/json.hpp>

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
