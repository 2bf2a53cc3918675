// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "model/cache_rules.hpp"
#include "model/config_file.hpp"
#include "model/config_reader.hpp"
#include "model/diagnostics.hpp"
#include "model/layer_caches.hpp"
#include "model/metadata_counts.hpp"
#include "model/parts.hpp"

namespace hiptool::model {
namespace {

/// What transformers takes for the fields that a config.json leaves out; 0: no fixed number.
struct ConfigDefaults {
  std::string_view model;  ///< model_type
  std::uint64_t layers = 0;
  std::uint64_t embedding_length = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_length = 0;        ///< else the embedding divided by the heads
  std::uint64_t whole_head_length = 0;  ///< of layers without a window, where it differs
  std::uint64_t window = 0;
};

// configuration_NAME.py of
// https://github.com/huggingface/transformers/tree/main/src/transformers/models
constexpr std::array known_defaults{
    ConfigDefaults{"llama", 32, 4096, 32},
    ConfigDefaults{"mistral", 32, 4096, 32, 8},
    ConfigDefaults{"qwen2", 32, 4096, 32, 32},
    ConfigDefaults{"qwen3", 32, 4096, 32, 32, 128},
    ConfigDefaults{"qwen3_vl_text", 32, 4096, 32, 32, 128},
    ConfigDefaults{"qwen3_5_text", 32, 4096, 16, 4, 256},
    ConfigDefaults{"qwen3_5_moe_text", 40, 2048, 16, 2, 256},
    ConfigDefaults{"llama4_text", 48, 5120, 40, 8, 128},
    ConfigDefaults{"gpt_oss", 36, 2880, 64, 8, 64},
    ConfigDefaults{"gemma", 28, 3072, 16, 16, 256},
    ConfigDefaults{"gemma2", 26, 2304, 8, 4, 256},
    ConfigDefaults{"gemma3", 26, 2304, 8, 4, 256},  // its language part without a model_type
    ConfigDefaults{"gemma3_text", 26, 2304, 8, 4, 256},
    ConfigDefaults{"gemma3n_text", 35, 2048, 8, 2, 256},
    ConfigDefaults{"gemma4_text", 30, 2304, 8, 4, 256, 512, 512},
};

// Null for a model_type whose defaults are not known.
const ConfigDefaults* find_config_defaults(std::string_view model) noexcept {
  const auto found = std::ranges::find(known_defaults, model, &ConfigDefaults::model);
  return found == known_defaults.end() ? nullptr : &*found;
}

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
  summary.kv_heads =
      config.per_layer({"num_key_value_heads_per_layer", "num_key_value_heads", "num_kv_heads",
                        "n_head_kv", "n_kv_heads", "num_attention_groups", "num_query_groups"});
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

// A language part that transformers wrote leaves out what equals the defaults; whole configs state
// all but what a class adds to others.
ConfigDefaults defaults_of(const ConfigReader& config, const ModelSummary& summary) {
  const ConfigDefaults* found = find_config_defaults(summary.architecture.value_or(""));
  if (found == nullptr) return {};
  ConfigDefaults usual = *found;
  if (!config.has_language_part()) {
    usual.layers = usual.embedding_length = usual.heads = usual.kv_heads = 0;
  }
  return usual;
}

using Count = std::optional<std::uint64_t>;

Count or_usual(const Count& named, std::uint64_t usual) {
  return named || usual == 0 ? named : Count(usual);
}

// 0 says that the field is not used (DeepSeek-OCR, whose attention is not latent).
Count above_zero(const Count& named) { return named == 0U ? std::nullopt : named; }

void read_heads(ConfigReader& config, const ConfigDefaults& usual, ModelSummary& summary) {
  const auto all = [&](std::uint64_t count) {
    return count == 0 ? std::vector<std::uint64_t>()
                      : for_each_layer(summary, "num_attention_heads", {count});
  };
  summary.heads = config.per_layer({"num_attention_heads", "n_head", "n_heads", "num_query_heads"});
  if (summary.heads.empty()) summary.heads = all(usual.heads);
  read_kv_heads(config, summary);
  if (summary.kv_heads.empty()) summary.kv_heads = all(usual.kv_heads);
  const Count named = above_zero(config.count({"head_dim", "attention_head_dim", "kv_channels"}));
  summary.key_length = summary.value_length = or_usual(named, usual.head_length);
  if (const auto length = above_zero(config.count({"v_head_dim"}))) summary.value_length = length;
  const bool is_zamba = summary.architecture == "zamba" || summary.architecture == "zamba2";
  if (is_zamba && !summary.key_length && !summary.heads.empty() && summary.heads[0] > 0) {
    // It attends to the embedding next to the layer's input.
    summary.key_length = summary.value_length =
        2 * summary.embedding_length.value_or(0) / summary.heads[0];
  }
}

Count field_of(const Json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(name);
  const bool is_count =
      found != object.end() && found->is_number_unsigned() && *found <= most_count;
  return is_count ? Count(found->get<std::uint64_t>()) : std::nullopt;
}

// per_layer_config of transformers 5.15: what of a layer differs from the others.
void read_layers(const Json& layers, ModelSummary& summary, CacheFacts& facts) {
  facts.head_lengths.assign(summary.kv_heads.size(), summary.key_length.value_or(0));
  for (const auto& [name, fields] : layers.items()) {
    const auto layer = base::parse_number<std::uint64_t>(name);
    if (!layer || *layer >= summary.kv_heads.size()) continue;
    const auto index = static_cast<std::size_t>(*layer);
    if (const Count length = field_of(fields, "head_dim")) facts.head_lengths[index] = *length;
    if (const Count heads = field_of(fields, "num_key_value_heads")) {
      summary.kv_heads[index] = *heads;
    }
  }
}

// Gemma 4: head_dim and num_key_value_heads are of layers with a window.
void read_whole_layers(ConfigReader& config, const ConfigDefaults& usual, ModelSummary& summary,
                       CacheFacts& facts) {
  const Json* layers = config.find({"per_layer_config"});
  if (layers != nullptr && layers->is_object()) return read_layers(*layers, summary, facts);
  const Count length = or_usual(config.count({"global_head_dim"}), usual.whole_head_length);
  const Count heads = config.count({"num_global_key_value_heads"});
  if (length && summary.key_length) {
    facts.window_key_length = facts.window_value_length = summary.key_length;
    summary.key_length = summary.value_length = length;
  }
  if (!heads || config.is_false("attention_k_eq_v")) return;
  const bool is_known = find_cache_rule(summary.architecture.value_or("")) != nullptr;
  for (std::size_t layer = 0; layer < summary.kv_heads.size(); ++layer) {
    std::uint64_t& named = summary.kv_heads[layer];
    const LayerKind kind = facts.kinds.empty() ? LayerKind::unknown : facts.kinds[layer];
    if (kind == LayerKind::whole) named = *heads;
    if (kind == LayerKind::unknown && !is_known) named = std::max(named, *heads);
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

void read_layer_count(ConfigReader& config, const ConfigDefaults& usual, ModelSummary& summary) {
  summary.layers = or_usual(config.count({"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                          "num_transformer_layers"},
                                         most_layers),
                            usual.layers);
  // Each of its layers attends twice (modeling_longcat_flash.py of transformers).
  const bool attends_twice =
      summary.architecture == "longcat_flash" && !config.count({"num_hidden_layers"}, most_layers);
  if (attends_twice && summary.layers && *summary.layers <= most_layers / 2) {
    *summary.layers *= 2;
  }
  const Json* blocks = config.find({"layers_block_type"});
  const bool is_list = blocks != nullptr && blocks->is_array();
  if (!summary.layers && is_list && !blocks->empty() && blocks->size() <= most_layers) {
    summary.layers = blocks->size();
  }
}

// A number, or the largest of a list for each layer (Hunyuan) or modality (ERNIE 4.5 VL).
Count most_of(ConfigReader& config, ConfigReader::Names names) {
  const Json* value = config.find(names);
  if (value == nullptr || !value->is_array()) return config.count(names);
  Count most;
  for (const Json& element : *value) {
    const bool is_count = element.is_number_unsigned() && element <= most_count;
    if (is_count) most = std::max(most.value_or(0), element.get<std::uint64_t>());
  }
  return most;
}

void read_experts(ConfigReader& config, ModelSummary& summary) {
  summary.experts = most_of(config, {"num_local_experts", "n_routed_experts", "num_experts",
                                     "moe_num_experts", "moe_num_primary_experts"});
  summary.experts_used = most_of(
      config, {"num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_topk", "moe_k",
               "moe_num_active_primary_experts", "top_k_experts", "experts_per_token"});
  // DBRX, Yuan 2 M32, Mistral's params.json.
  for (const auto& [object, total, used] :
       {std::array{"ffn_config", "moe_num_experts", "moe_top_k"},
        std::array{"moe_config", "moe_num_experts", "moe_top_k"},
        std::array{"moe", "num_experts", "num_experts_per_tok"}}) {
    if (!summary.experts) summary.experts = config.count_in(object, total);
    if (!summary.experts_used) summary.experts_used = config.count_in(object, used);
  }
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
  const ConfigDefaults usual = defaults_of(config, summary);
  read_layer_count(config, usual, summary);
  summary.context_length =
      config.count({"max_position_embeddings", "n_positions", "max_sequence_length", "seq_length",
                    "max_context_length", "max_seq_len", "model_max_length", "context_length",
                    "n_ctx", "max_seq_length"});
  if (const auto extended = extended_context(config)) {
    summary.context_length = std::max(summary.context_length.value_or(0), *extended);
  }
  summary.embedding_length =
      or_usual(config.count({"hidden_size", "n_embd", "d_model", "n_embed", "model_dim", "dim"}),
               usual.embedding_length);
  summary.feed_forward_length =
      config.per_layer({"intermediate_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim"});
  read_heads(config, usual, summary);
  const Json* uses_window = config.find({"use_sliding_window"});
  if (uses_window == nullptr || *uses_window != false) {
    summary.sliding_window =
        or_usual(config.count({"sliding_window", "sliding_window_size", "attention_chunk_size"}),
                 usual.window);
  }
  read_experts(config, summary);
  summary.vocabulary_size = config.count({"vocab_size", "padded_vocab_size"});
  // Multi-head latent attention caches one compressed vector and one rotated key for all heads
  // (DeepSeek-V2, section 2.1).
  const auto rank = config.count({"kv_lora_rank"});
  const auto rotated = config.count({"qk_rope_head_dim"});
  const CacheRule* rule = find_cache_rule(summary.architecture.value_or(""));
  const bool is_latent = (rule == nullptr || rule->is_latent) && !config.is_false("use_mla");
  if (rank && rotated && is_latent) {
    summary.has_latent_attention = true;
    summary.kv_heads = for_each_layer(summary, "num_key_value_heads", {1});
    summary.key_length = *rank + *rotated;
    summary.value_length = *rank;
  } else if (const auto plain = config.count({"qk_nope_head_dim"});
             plain && rotated && *plain > 0) {
    summary.key_length = *plain + *rotated;  // MiniCPM3, PLM: decompressed keys
  }
  const bool is_encoder = rule != nullptr && rule->kind == CacheKind::nothing;
  summary.is_decoder = config.is_true("is_decoder");
  if (is_encoder && summary.is_decoder && summary.heads.empty())
    summary.missing_keys.emplace_back("num_attention_heads");
  complete(summary, {"num_hidden_layers", "num_attention_heads", "head_dim"});
  CacheFacts facts = read_config_caches(config, summary);
  read_whole_layers(config, usual, summary, facts);
  set_caches(summary, facts);
}

// mamba_ssm's own configuration (config_mamba.py), in the names of transformers. It names no type,
// and leaves out what equals the defaults of its modules.
void rename_mamba_fields(Json& json) {
  const auto found = json.find("ssm_cfg");
  if (found == json.end() || !found->is_object() || json.contains("model_type")) return;
  const Json states = *found;
  const Json layer = states.value("layer", Json("Mamba1"));
  if (layer != "Mamba1" && layer != "Mamba2") return;
  const bool is_second = layer == "Mamba2";
  json["model_type"] = is_second ? "mamba2" : "mamba";
  json["conv_kernel"] = states.value("d_conv", Json(4));
  json["state_size"] = states.value("d_state", Json(is_second ? 128 : 16));
  json["expand"] = states.value("expand", Json(2));
  if (is_second) json["n_groups"] = states.value("ngroups", Json(1));
  if (states.contains("d_ssm")) json["mamba_d_ssm"] = states["d_ssm"];
  const auto layers = json.find("attn_layer_idx");
  if (layers == json.end() || !layers->is_array() || layers->empty()) return;
  json["model_type"] = "mamba_ssm";  // a hybrid of no program's but its own
  const Json attention = json.value("attn_cfg", Json::object());
  if (!attention.is_object()) return;
  const Json heads = attention.value("num_heads", Json());
  json["num_attention_heads"] = heads;
  json["num_key_value_heads"] = attention.value("num_heads_kv", heads);
  json["head_dim"] = attention.value("head_dim", Json());
}

}  // namespace

void read_config_json(const ModelFile& model, ModelSummary& summary) {
  std::error_code ignored;
  std::filesystem::path path = model.folder() / "config.json";
  // Mistral's own format; no architecture of transformers has its names.
  const std::filesystem::path params = model.folder() / "params.json";
  const bool is_mistral =
      !std::filesystem::exists(path, ignored) && std::filesystem::exists(params, ignored);
  if (is_mistral) path = params;
  Json json = Json::object();
  if (std::filesystem::exists(path, ignored)) {
    const std::string problem = read_config_file(path, json);
    if (!problem.empty()) {
      summary.unreadable = ignored_file(path, problem);
      summary.warnings.push_back(summary.unreadable);
      json = Json::object();
    }
  }
  if (is_mistral && !json.contains("model_type")) {
    json["model_type"] = json.contains("kv_lora_rank") ? "mistral4" : "mistral";
  }
  if (const auto why = why_missing(path)) {
    summary.unreadable = path.string() + why->substr(2);  // in place of "it"
    if (*why != "it is missing") summary.warnings.push_back(summary.unreadable);
  }
  rename_mamba_fields(json);
  read_fields(ConfigReader(json, summary), summary);
  for (std::string& key : summary.missing_keys) key += " in config.json";
}

}  // namespace hiptool::model
