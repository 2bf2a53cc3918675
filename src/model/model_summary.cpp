// SPDX-License-Identifier: MIT
#include "hiptool/model_summary.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "model/cache_rules.hpp"
#include "model/layer_caches.hpp"
#include "model/metadata_counts.hpp"
#include "model/text.hpp"

namespace hiptool {
namespace model {

std::optional<std::uint64_t> believable(ModelSummary& summary, std::string_view key,
                                        std::int64_t value, std::uint64_t most) {
  if (value >= 0 && static_cast<std::uint64_t>(value) <= most) {
    return static_cast<std::uint64_t>(value);
  }
  summary.warnings.push_back(in_quotes(key) + " is " + std::to_string(value) +
                             ", which is out of range and is ignored");
  return std::nullopt;
}

std::vector<std::uint64_t> for_each_layer(ModelSummary& summary, std::string_view key,
                                          std::vector<std::uint64_t> values) {
  if (!summary.layers || values.size() == *summary.layers) return values;
  if (values.size() == 1) {
    return std::vector<std::uint64_t>(static_cast<std::size_t>(*summary.layers), values.front());
  }
  if (!values.empty()) {
    summary.warnings.push_back(in_quotes(key) + " has " + std::to_string(values.size()) +
                               " numbers for " + base::plain_count_of(*summary.layers, "layer") +
                               " and is ignored");
  }
  return {};
}

void complete(ModelSummary& summary, const KeyNames& keys) {
  const auto is_zero = [](std::uint64_t count) { return count == 0; };
  // llama.cpp and transformers alike: without a number of KV heads, heads do not share any.
  if (summary.kv_heads.empty()) summary.kv_heads = summary.heads;
  const auto first = std::ranges::find_if_not(summary.heads, is_zero);
  if (first != summary.heads.end() && summary.embedding_length) {
    const std::uint64_t length = *summary.embedding_length / *first;
    if (!summary.key_length) summary.key_length = length;
    if (!summary.value_length) summary.value_length = length;
  }
  // Such a model may have no attention that could be described.
  const CacheRule* rule = find_cache_rule(summary.architecture.value_or(""));
  const bool has_none =
      rule != nullptr && (rule->kind == CacheKind::recurrent || rule->kind == CacheKind::nothing);
  if (has_none && summary.kv_heads.empty() && summary.layers) {
    summary.kv_heads.assign(static_cast<std::size_t>(*summary.layers), 0);
  }
  if (!summary.layers) summary.missing_keys.push_back(keys.layers);
  if (summary.kv_heads.empty()) summary.missing_keys.push_back(keys.heads);
  const bool has_cache = !std::ranges::all_of(summary.kv_heads, is_zero);
  if (has_cache && (!summary.key_length || !summary.value_length)) {
    summary.missing_keys.push_back(keys.key_length);
  }
}

namespace {

// llama.cpp's `enum llama_ftype` (llama.h); removed numbers are empty.
constexpr std::array<std::string_view, 42> file_types{
    "F32",   "F16",     "Q4_0",   "Q4_1",   "Q4_1+F16", "",        "",       "Q8_0",   "Q5_0",
    "Q5_1",  "Q2_K",    "Q3_K_S", "Q3_K_M", "Q3_K_L",   "Q4_K_S",  "Q4_K_M", "Q5_K_S", "Q5_K_M",
    "Q6_K",  "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS",   "IQ3_XXS", "IQ1_S",  "IQ4_NL", "IQ3_S",
    "IQ3_M", "IQ2_S",   "IQ2_M",  "IQ4_XS", "IQ1_M",    "BF16",    "",       "",       "",
    "TQ1_0", "TQ2_0",   "MXFP4",  "NVFP4",  "Q1_0",     "Q2_0"};
constexpr std::int64_t guessed = 1024;

std::optional<std::string> file_type_name(std::int64_t number) {
  const bool is_guess = (number & guessed) != 0;
  const std::int64_t plain = number & ~guessed;
  if (plain < 0 || plain >= static_cast<std::int64_t>(file_types.size())) return std::nullopt;
  const std::string_view name = file_types[static_cast<std::size_t>(plain)];
  if (name.empty()) return std::nullopt;
  return std::string(name) + (is_guess ? " (guessed)" : "");
}

std::vector<TypeShare> shares_of(std::span<const TensorInfo> tensors) {
  std::map<std::string_view, TypeShare> by_name;
  for (const TensorInfo& tensor : tensors) {
    TypeShare& share = by_name[tensor.type.name()];
    ++share.tensors;
    share.size_bytes += tensor.size_bytes;
  }
  std::vector<TypeShare> shares;
  for (auto& [name, share] : by_name) {
    share.type = name;
    shares.push_back(std::move(share));
  }
  std::ranges::stable_sort(shares, [](const TypeShare& left, const TypeShare& right) {
    return left.size_bytes > right.size_bytes;
  });
  return shares;
}

/// Reads the keys that begin with the name of the architecture.
class GgufKeys {
 public:
  GgufKeys(const ModelFile& model, ModelSummary& summary)
      : model_(model), summary_(summary), prefix_(summary.architecture.value_or("") + ".") {}

  std::string key(std::string_view name) const { return prefix_ + std::string(name); }

  std::optional<std::uint64_t> count(std::string_view name, std::uint64_t most = most_count) {
    const auto value = model_.integer(key(name));
    return value ? believable(summary_, key(name), *value, most) : std::nullopt;
  }

  bool has(std::string_view name) const { return model_.integer(key(name)).has_value(); }

  // An array of numbers or of true and false with one for each layer; empty for others.
  std::vector<bool> flags(std::string_view name) const {
    const auto size = model_.array_size(key(name));
    if (!size || !summary_.layers || *size < *summary_.layers || *size > most_layers) return {};
    if (const auto flags = model_.booleans(key(name))) return *flags;
    std::vector<bool> flags;
    const auto numbers = model_.integers(key(name));
    if (!numbers) return {};
    for (const std::int64_t number : *numbers) flags.push_back(number != 0);
    return flags;
  }

  // One number for all layers, or an array with one for each.
  std::vector<std::uint64_t> per_layer(std::string_view name) {
    if (const auto value = count(name)) return for_each_layer(summary_, key(name), {*value});
    const auto size = model_.array_size(key(name));
    if (!size || *size > most_layers) return {};  // not even read
    const auto numbers = model_.integers(key(name));
    if (!numbers) return {};
    std::vector<std::uint64_t> counts;
    for (const std::int64_t number : *numbers) {
      const auto believed = believable(summary_, key(name), number);
      if (!believed) return {};
      counts.push_back(*believed);
    }
    return for_each_layer(summary_, key(name), std::move(counts));
  }

 private:
  const ModelFile& model_;
  ModelSummary& summary_;
  std::string prefix_;
};

std::optional<std::uint64_t> read_state(GgufKeys& keys, const ModelSummary& summary,
                                        std::vector<std::string>& missing) {
  const std::uint64_t embedding = summary.embedding_length.value_or(0);
  const auto convolution = keys.count("ssm.conv_kernel");
  if (const auto head = keys.count("wkv.head_size"); head.value_or(0) > 0) {
    const std::uint64_t shifts = keys.count("token_shift_count").value_or(2);
    return state_bytes(
        HeadedStateShape{std::min(shifts, most_layers) * embedding, embedding / *head, *head});
  }
  if (const auto taps = keys.count("shortconv.l_cache"); taps.value_or(0) > 0) {
    return state_bytes(HeadedStateShape{std::min(*taps - 1, most_layers) * embedding, 0, 0});
  }
  if (const auto head = keys.count("kda.head_dim"); head.value_or(0) > 0) {
    const std::uint64_t heads = summary.heads.empty() ? 0 : summary.heads.front();
    const std::uint64_t taps = std::clamp<std::uint64_t>(convolution.value_or(4), 1, most_layers);
    const std::uint64_t channels = std::min(heads, most_layers) * std::min(*head, most_layers);
    return state_bytes(HeadedStateShape{3 * (taps - 1) * channels, heads, *head});
  }
  const StateShape shape{convolution, keys.count("ssm.inner_size"), keys.count("ssm.state_size"),
                         keys.count("ssm.group_count").value_or(0)};
  if (!shape.convolution) missing.push_back(keys.key("ssm.conv_kernel"));
  if (!shape.inner) missing.push_back(keys.key("ssm.inner_size"));
  if (!shape.state) missing.push_back(keys.key("ssm.state_size"));
  return state_bytes(shape);
}

CacheFacts read_cache_facts(GgufKeys& keys, const ModelSummary& summary) {
  CacheFacts facts;
  const auto windows = keys.flags("attention.sliding_window_pattern");
  const auto recurrent = keys.flags("attention.recurrent_layers");
  for (std::size_t layer = 0; layer < summary.layers.value_or(0); ++layer) {
    if (!recurrent.empty()) {
      facts.kinds.push_back(recurrent[layer] ? LayerKind::recurrent : LayerKind::whole);
    } else if (!windows.empty()) {
      facts.kinds.push_back(windows[layer] ? LayerKind::window : LayerKind::whole);
    }
  }
  facts.period = keys.count("attention.sliding_window_pattern");
  facts.interval = keys.count("full_attention_interval");
  facts.window_key_length = keys.count("attention.key_length_swa");
  facts.window_value_length = keys.count("attention.value_length_swa");
  facts.is_latent = keys.count("attention.key_length_mla").value_or(0) > 0 &&
                    keys.count("attention.value_length_mla").value_or(0) > 0;
  facts.shared_layers = keys.count("attention.shared_kv_layers").value_or(0);
  facts.predict_layers = keys.count("nextn_predict_layers").value_or(0);
  facts.indexer_length = keys.count("attention.indexer.key_length");
  facts.indexers = keys.flags("attention.indexer.types");
  facts.state_bytes = read_state(keys, summary, facts.missing_state_keys);
  return facts;
}

void read_gguf(const ModelFile& model, ModelSummary& summary) {
  summary.architecture = model.text("general.architecture");
  summary.name = model.text("general.name");
  if (const auto type = model.integer("general.file_type")) {
    summary.file_type = file_type_name(*type);
  }
  GgufKeys keys(model, summary);
  summary.layers = keys.count("block_count", most_layers);
  summary.context_length = keys.count("context_length");
  summary.embedding_length = keys.count("embedding_length");
  summary.feed_forward_length = keys.per_layer("feed_forward_length");
  summary.heads = keys.per_layer("attention.head_count");
  summary.kv_heads = keys.per_layer("attention.head_count_kv");
  summary.key_length = keys.count("attention.key_length");
  summary.value_length = keys.count("attention.value_length");
  summary.sliding_window = keys.count("attention.sliding_window");
  summary.experts = keys.count("expert_count");
  summary.experts_used = keys.count("expert_used_count");
  summary.vocabulary_size = model.array_size("tokenizer.ggml.tokens");
  if (!summary.vocabulary_size) summary.vocabulary_size = keys.count("vocab_size");
  summary.has_latent_attention = keys.count("attention.kv_lora_rank").value_or(0) > 0;
  summary.is_recurrent = keys.has("ssm.state_size") || keys.has("wkv.head_size");
  complete(summary, {keys.key("block_count"), keys.key("attention.head_count"),
                     keys.key("attention.key_length")});
  set_caches(summary, read_cache_facts(keys, summary));
}

}  // namespace
}  // namespace model

ModelSummary summarize(const ModelFile& model) {
  ModelSummary summary;
  summary.parameters = model.parameters();
  summary.types = model::shares_of(model.tensors());
  switch (model.format()) {
    case ModelFormat::gguf: model::read_gguf(model, summary); break;
    case ModelFormat::safetensors: model::read_config_json(model, summary); break;
  }
  return summary;
}

}  // namespace hiptool
