// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "model/cache_rules.hpp"
#include "model/config_file.hpp"
#include "model/config_reader.hpp"
#include "model/diagnostics.hpp"
#include "model/layer_caches.hpp"
#include "model/metadata_counts.hpp"

namespace hiptool::model {
namespace {

using Json = nlohmann::json;

// block_configs of Nemotron Super and Ultra: how many heads share one of keys and values.
void read_block_heads(const ConfigReader& config, ModelSummary& summary) {
  const Json* blocks = config.find({"block_configs"});
  if (blocks == nullptr || !blocks->is_array() || !summary.layers) return;
  std::vector<std::uint64_t> kv_heads;
  for (const Json& block : *blocks) {
    std::uint64_t heads = 0;
    const auto attention = block.is_object() ? block.find("attention") : block.end();
    if (attention != block.end() && attention->is_object()) {
      const auto group = attention->find("n_heads_in_group");
      const std::size_t layer = kv_heads.size();
      const bool has_group = group != attention->end() && group->is_number_unsigned();
      if (has_group && *group != 0 && layer < summary.heads.size()) {
        heads = summary.heads[layer] / group->get<std::uint64_t>();
      }
    }
    kv_heads.push_back(heads);
  }
  const auto counts = for_each_layer(summary, "block_configs", std::move(kv_heads));
  if (!counts.empty()) summary.kv_heads = counts;
}

void read_kv_heads(ConfigReader& config, ModelSummary& summary) {
  const auto all = [&](std::uint64_t heads) {
    summary.kv_heads = for_each_layer(summary, "num_key_value_heads", {heads});
  };
  summary.kv_heads = config.per_layer({"num_key_value_heads", "num_kv_heads", "n_head_kv",
                                       "num_attention_groups", "num_query_groups"});
  if (const auto heads = config.count_in("attn_config", "kv_n_heads")) all(*heads);
  // GPT-BigCode and Falcon 7B share one head of keys and values, whatever else they say.
  const bool shares_one = config.is_true("multi_query") || (summary.architecture == "gpt_bigcode" &&
                                                            !config.is_false("multi_query"));
  if (shares_one && !config.is_true("new_decoder_architecture")) all(1);
  if (const auto groups = config.count({"multi_query_group_num"})) {
    if (!config.is_false("multi_query_attention")) all(*groups);
  }
  read_block_heads(config, summary);
}

// Gemma 3's and 4's own configs leave out what equals the defaults of transformers
// (configuration_gemma3.py, _gemma3n.py and _gemma4.py).
void add_defaults(ModelSummary& summary) {
  struct Defaults {
    std::string_view model;
    std::uint64_t heads, kv_heads, length;
  };
  constexpr Defaults known[]{{"gemma3", 8, 4, 256},
                             {"gemma3_text", 8, 4, 256},
                             {"gemma3n_text", 8, 2, 256},
                             {"gemma4_text", 8, 4, 256}};
  for (const Defaults& one : known) {
    if (summary.architecture != one.model) continue;
    const auto fill = [&](std::vector<std::uint64_t>& counts, std::uint64_t count) {
      if (counts.empty()) counts = for_each_layer(summary, "num_attention_heads", {count});
    };
    fill(summary.heads, one.heads);
    fill(summary.kv_heads, one.kv_heads);
    if (!summary.key_length) summary.key_length = summary.value_length = one.length;
  }
}

// Gemma 4: head_dim and num_key_value_heads are those of layers with a window.
void read_whole_layers(ConfigReader& config, ModelSummary& summary, CacheFacts& facts) {
  const auto length = config.count({"global_head_dim"});
  const auto heads = config.count({"num_global_key_value_heads"});
  if (length && summary.key_length) {
    facts.window_key_length = facts.window_value_length = summary.key_length;
    summary.key_length = summary.value_length = length;
  }
  if (!heads || facts.kinds.empty()) return;
  for (std::size_t layer = 0; layer < summary.kv_heads.size(); ++layer) {
    if (facts.kinds[layer] == LayerKind::whole) summary.kv_heads[layer] = *heads;
  }
}

// YaRN serves `factor` times the context of the training, of which max_position_embeddings may
// still be the old one (Qwen3's model card, "Processing Long Texts"; vLLM derives the same).
std::optional<std::uint64_t> extended_context(ConfigReader& config) {
  for (const char* rope : {"rope_parameters", "rope_scaling"}) {
    const Json* type = config.find_in(rope, "rope_type");
    if (type == nullptr) type = config.find_in(rope, "type");
    const Json* factor = config.find_in(rope, "factor");
    const auto original = config.count_in(rope, "original_max_position_embeddings");
    if (type == nullptr || *type != "yarn" || !original) continue;
    if (factor == nullptr || !factor->is_number()) continue;
    const double tokens = factor->get<double>() * static_cast<double>(*original);
    if (tokens >= 1 && tokens <= static_cast<double>(most_count)) {
      return static_cast<std::uint64_t>(tokens);
    }
  }
  return std::nullopt;
}

void read_fields(ConfigReader config, ModelSummary& summary) {
  summary.architecture = config.text({"model_type"});
  if (!summary.architecture) {
    const Json* names = config.find({"architectures"});
    const bool has_one = names != nullptr && names->is_array() && !names->empty();
    if (has_one && names->front().is_string()) {
      summary.architecture = names->front().get<std::string>();
    }
  }
  summary.name = config.text({"_name_or_path"});
  const Json* quantization = config.find({"quantization_config"});
  if (quantization != nullptr && quantization->is_object()) {
    const auto method = quantization->find("quant_method");
    if (method != quantization->end() && method->is_string()) {
      summary.file_type = method->get<std::string>();
    }
  }
  summary.layers =
      config.count({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, most_layers);
  if (const Json* blocks = config.find({"layers_block_type"}); !summary.layers && blocks) {
    if (blocks->is_array() && !blocks->empty()) summary.layers = blocks->size();
  }
  summary.context_length =
      config.count({"max_position_embeddings", "n_positions", "max_sequence_length", "seq_length"});
  if (const auto extended = extended_context(config)) {
    summary.context_length = std::max(summary.context_length.value_or(0), *extended);
  }
  summary.embedding_length = config.count({"hidden_size", "n_embd", "d_model"});
  summary.feed_forward_length =
      config.per_layer({"intermediate_size", "n_inner", "ffn_dim", "d_ff"});
  summary.heads = config.per_layer({"num_attention_heads", "n_head", "n_heads", "num_query_heads"});
  read_kv_heads(config, summary);
  summary.key_length = config.count({"head_dim", "attention_head_dim", "kv_channels"});
  summary.value_length = summary.key_length;
  if (const auto length = config.count({"v_head_dim"})) summary.value_length = length;
  add_defaults(summary);
  const Json* uses_window = config.find({"use_sliding_window"});
  if (uses_window == nullptr || *uses_window != false) {
    summary.sliding_window =
        config.count({"sliding_window", "sliding_window_size", "attention_chunk_size"});
  }
  summary.experts = config.count({"num_local_experts", "n_routed_experts", "num_experts"});
  summary.experts_used = config.count({"num_experts_per_tok", "num_experts_per_token"});
  summary.vocabulary_size = config.count({"vocab_size", "padded_vocab_size"});
  // Multi-head latent attention caches one compressed vector and one rotated key for all heads
  // (DeepSeek-V2, section 2.1).
  const auto rank = config.count({"kv_lora_rank"});
  const auto rotated = config.count({"qk_rope_head_dim"});
  const CacheRule* rule = find_cache_rule(summary.architecture.value_or(""));
  const bool is_latent = rule == nullptr || rule->is_latent;
  if (rank && rotated && is_latent) {
    summary.has_latent_attention = true;
    summary.kv_heads = for_each_layer(summary, "num_key_value_heads", {1});
    summary.key_length = *rank + *rotated;
    summary.value_length = *rank;
  } else if (const auto plain = config.count({"qk_nope_head_dim"}); plain && rotated) {
    summary.key_length = *plain + *rotated;  // MiniCPM3, PLM: decompressed keys
  }
  complete(summary, {"num_hidden_layers", "num_attention_heads", "head_dim"});
  CacheFacts facts = read_config_caches(config, summary);
  read_whole_layers(config, summary, facts);
  set_caches(summary, facts);
}

}  // namespace

void read_config_json(const ModelFile& model, ModelSummary& summary) {
  const std::filesystem::path path = model.folder() / "config.json";
  std::error_code ignored;
  Json json = Json::object();
  if (std::filesystem::exists(path, ignored)) {
    const std::string problem = read_config_file(path, json);
    if (!problem.empty()) {
      summary.unreadable = ignored_file(path, problem);
      summary.warnings.push_back(summary.unreadable);
      json = Json::object();
    }
  }
  read_fields(ConfigReader(json, summary), summary);
  for (std::string& key : summary.missing_keys) key += " in config.json";
}

}  // namespace hiptool::model
