// SPDX-License-Identifier: MIT
#include "hiptool/model_summary.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

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
                               " numbers for " + std::to_string(*summary.layers) +
                               " layers and is ignored");
  }
  return {};
}

void complete(ModelSummary& summary, const KeyNames& keys) {
  const auto is_zero = [](std::uint64_t count) { return count == 0; };
  // llama.cpp and transformers alike: without a number of KV heads, heads do not share any.
  if (summary.kv_heads.empty()) summary.kv_heads = summary.heads;
  const auto first = std::find_if_not(summary.heads.begin(), summary.heads.end(), is_zero);
  if (first != summary.heads.end() && summary.embedding_length) {
    const std::uint64_t length = *summary.embedding_length / *first;
    if (!summary.key_length) summary.key_length = length;
    if (!summary.value_length) summary.value_length = length;
  }
  if (!summary.layers) summary.missing_keys.push_back(keys.layers);
  if (summary.kv_heads.empty()) summary.missing_keys.push_back(keys.heads);
  const bool has_cache = !std::all_of(summary.kv_heads.begin(), summary.kv_heads.end(), is_zero);
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
  std::stable_sort(shares.begin(), shares.end(), [](const TypeShare& left, const TypeShare& right) {
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
  summary.is_recurrent =
      keys.count("ssm.state_size").has_value() || keys.count("wkv.head_size").has_value();
  complete(summary, {keys.key("block_count"), keys.key("attention.head_count"),
                     keys.key("attention.key_length")});
  // Of such a group of layers only the last one attends; the others are recurrent (llama.cpp's
  // models qwen3next and qwen35).
  const auto interval = keys.count("full_attention_interval");
  if (!interval || *interval == 0) return;
  for (std::size_t layer = 0; layer < summary.kv_heads.size(); ++layer) {
    if ((layer + 1) % *interval != 0) summary.kv_heads[layer] = 0;
  }
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
