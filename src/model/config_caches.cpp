// SPDX-License-Identifier: MIT
// Every architecture of Hugging Face has its own way to say what its layers keep.
#include <algorithm>
#include <string_view>

#include "model/cache_rules.hpp"
#include "model/config_reader.hpp"

namespace hiptool::model {
namespace {

using Json = ConfigReader::Json;
using Kinds = std::vector<LayerKind>;

// Null for a word that is not known.
const LayerKind* kind_of_word(std::string_view word) {
  static constexpr std::pair<std::string_view, LayerKind> known[]{
      {"full_attention", LayerKind::whole},
      {"attention", LayerKind::whole},
      {"global_attention", LayerKind::whole},
      {"global", LayerKind::whole},
      {"sliding_attention", LayerKind::window},
      {"sliding_window_attention", LayerKind::window},
      {"chunked_attention", LayerKind::window},
      {"local_attention", LayerKind::window},
      {"local", LayerKind::window},
      {"linear_attention", LayerKind::recurrent},
      {"mamba", LayerKind::recurrent},
      {"mamba2", LayerKind::recurrent},
      {"conv", LayerKind::recurrent},
      {"hybrid", LayerKind::both},
      {"mlp", LayerKind::nothing},
      {"moe", LayerKind::nothing}};
  for (const auto& entry : known) {
    if (entry.first == word) return &entry.second;
  }
  return nullptr;
}

// Of hybrid_override_pattern (Nemotron-H) and sliding_window_pattern (EXAONE 4).
const LayerKind* kind_of_letter(char letter) {
  static constexpr std::pair<char, LayerKind> known[]{
      {'*', LayerKind::whole},   {'M', LayerKind::recurrent}, {'E', LayerKind::nothing},
      {'-', LayerKind::nothing}, {'L', LayerKind::window},    {'G', LayerKind::whole}};
  for (const auto& entry : known) {
    if (entry.first == letter) return &entry.second;
  }
  return nullptr;
}

/// Looks for the list of layers under the names that are in use.
class LayerList {
 public:
  LayerList(ConfigReader& config, std::uint64_t layers, CacheFacts& facts)
      : config_(config), layers_(static_cast<std::size_t>(layers)), facts_(facts) {}

  void read() {
    facts_.kinds = find();
    // Those after the layers are of multi-token prediction.
    if (facts_.kinds.size() > layers_) facts_.kinds.resize(layers_);
    if (facts_.kinds.empty() || facts_.kinds.size() == layers_) return;
    facts_.has_unknown_kinds = true;
    facts_.kinds.clear();
  }

 private:
  Kinds find() {
    for (const char* name : {"layer_types", "layers_block_type", "hybrid_override_pattern"}) {
      const Json* list = config_.find({name});
      if (list != nullptr && list->is_array()) return words(*list);
      if (list != nullptr && list->is_string()) return letters(list->get<std::string>(), false);
    }
    const Json* pattern = config_.find({"sliding_window_pattern"});
    if (pattern != nullptr && pattern->is_string()) {
      return letters(pattern->get<std::string>(), true);
    }
    // 1 is a layer with a window (MiMo, SmallThinker), with full attention (MiniMax).
    if (auto kinds = flags("hybrid_layer_pattern", LayerKind::window, LayerKind::whole)) {
      return *kinds;
    }
    if (auto kinds = flags("sliding_window_layout", LayerKind::window, LayerKind::whole)) {
      return *kinds;
    }
    if (auto kinds = flags("attn_type_list", LayerKind::whole, LayerKind::recurrent)) return *kinds;
    return listed_or_periodic();
  }

  Kinds listed_or_periodic() {
    const Json* linear = config_.find({"linear_attn_config"});
    if (linear != nullptr && linear->is_object()) {
      const auto full = linear->find("full_attn_layers");  // counted from 1
      if (full != linear->end()) return at(*full, 1, LayerKind::whole);
    }
    for (const char* name : {"attn_layer_indices", "full_attn_idxs", "attn_layer_idx"}) {
      if (const Json* list = config_.find({name})) return at(*list, 0, LayerKind::whole);
    }
    if (const Json* list = config_.find({"hybrid_layer_ids"})) return at(*list, 0, LayerKind::both);
    const auto period = config_.count({"attn_layer_period"});
    if (period.value_or(0) > 0) {
      return attends_each(*period, config_.count({"attn_layer_offset"}).value_or(0));
    }
    if (const auto group = config_.count({"layer_group_size"}); group.value_or(0) > 0) {
      Kinds kinds = attends_each(*group, *group - 1);
      // Those of an incomplete group attend too (Bailing MoE 3).
      for (std::size_t layer = layers_ / *group * *group; layer < layers_; ++layer) {
        kinds[layer] = LayerKind::whole;
      }
      return kinds;
    }
    return {};
  }

  Kinds words(const Json& list) {
    Kinds kinds;
    for (const Json& word : list) {
      const LayerKind* kind =
          word.is_string() ? kind_of_word(word.get_ref<const std::string&>()) : nullptr;
      if (kind == nullptr) facts_.has_unknown_kinds = true;
      kinds.push_back(kind == nullptr ? LayerKind::unknown : *kind);
    }
    return kinds;
  }

  Kinds letters(const std::string& text, bool repeats) {
    Kinds kinds;
    const std::size_t count = repeats && !text.empty() ? layers_ : text.size();
    for (std::size_t i = 0; i < std::min(count, layers_ + 1); ++i) {
      const LayerKind* kind = kind_of_letter(text[i % text.size()]);
      if (kind == nullptr) facts_.has_unknown_kinds = true;
      kinds.push_back(kind == nullptr ? LayerKind::unknown : *kind);
    }
    return kinds;
  }

  std::optional<Kinds> flags(const char* name, LayerKind one, LayerKind zero) const {
    const Json* list = config_.find({name});
    if (list == nullptr || !list->is_array()) return std::nullopt;
    Kinds kinds;
    for (const Json& flag : *list) kinds.push_back(flag == 1 || flag == true ? one : zero);
    return kinds;
  }

  // Those of the list; the others are recurrent.
  Kinds at(const Json& list, std::size_t first, LayerKind kind) const {
    Kinds kinds(layers_, LayerKind::recurrent);
    if (!list.is_array()) return {};
    for (const Json& index : list) {
      if (!index.is_number_unsigned()) return {};
      const auto layer = index.get<std::uint64_t>() - first;
      if (layer < layers_) kinds[static_cast<std::size_t>(layer)] = kind;
    }
    return kinds;
  }

  Kinds attends_each(std::uint64_t period, std::uint64_t offset) const {
    Kinds kinds;
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      const bool attends = layer >= offset && (layer - offset) % period == 0;
      kinds.push_back(attends ? LayerKind::whole : LayerKind::recurrent);
    }
    return kinds;
  }

  ConfigReader& config_;
  std::size_t layers_;
  CacheFacts& facts_;
};

std::optional<std::uint64_t> product(std::optional<std::uint64_t> left,
                                     std::optional<std::uint64_t> right) {
  if (!left || !right || *left > most_count || *right > most_layers) return std::nullopt;
  return *left * *right;
}

// Channels of the state: as they are named, else heads times their length, else a multiple of the
// embedding.
std::optional<std::uint64_t> read_inner(ConfigReader& config, const ModelSummary& summary) {
  if (const auto named = config.count({"mamba_d_ssm", "mamba_intermediate_size"})) return named;
  const auto values = product(config.count({"linear_num_value_heads"}),
                              config.count({"linear_value_head_dim"}, most_layers));
  if (values) return values;
  const auto heads = product(config.count({"mamba_num_heads", "mamba_n_heads"}),
                             config.count({"mamba_head_dim", "mamba_d_head"}, most_layers));
  if (heads) return heads;
  const bool is_mamba = summary.architecture && (*summary.architecture == "mamba" ||
                                                 *summary.architecture == "falcon_mamba");
  if (is_mamba) {
    if (const auto named = config.count({"intermediate_size"})) return named;
  }
  return product(summary.embedding_length, config.count({"mamba_expand", "expand"}, most_layers));
}

// Gated DeltaNet, with what transformers leaves out of a language part
// (configuration_qwen3_next.py, _qwen3_5.py and _qwen3_5_moe.py).
StateShape delta_shape(ConfigReader& config) {
  const std::uint64_t key_length = config.count({"linear_key_head_dim"}).value_or(128);
  const std::uint64_t values = config.count({"linear_num_value_heads"}, most_layers).value_or(32);
  return {config.count({"linear_conv_kernel_dim"}, most_layers).value_or(4),
          product(values, config.count({"linear_value_head_dim"}, most_layers).value_or(128)),
          key_length, config.count({"linear_num_key_heads"}).value_or(16)};
}

// Kimi Delta Attention: in an object of the publisher's file, in fields of transformers 5
// (configuration_kimi_linear.py), or with the heads of the attention (_bailing_hybrid.py).
std::optional<HeadedStateShape> read_kda(ConfigReader& config) {
  auto length = config.count_in("linear_attn_config", "head_dim");
  auto heads = config.count_in("linear_attn_config", "num_heads");
  auto taps = config.count_in("linear_attn_config", "short_conv_kernel_size");
  if (!length || !heads) {
    length = config.count({"linear_head_dim"});
    heads = config.count({"linear_num_heads"});
    taps = config.count({"linear_conv_kernel_dim"});
  }
  const auto short_taps = config.count({"short_conv_kernel_size"});
  if ((!length || !heads) && short_taps) {
    length = config.count({"head_dim"});
    heads = config.count({"num_attention_heads"});
    taps = short_taps;
  }
  if (!length || !heads) return std::nullopt;
  const std::uint64_t kept = std::clamp<std::uint64_t>(taps.value_or(4), 1, most_layers) - 1;
  const std::uint64_t channels = std::min(product(heads, length).value_or(0), most_count);
  return HeadedStateShape{3 * kept * channels, *heads, *length};
}

std::optional<std::uint64_t> read_state(ConfigReader& config, const ModelSummary& summary,
                                        std::vector<std::string>& missing) {
  const std::uint64_t embedding = summary.embedding_length.value_or(0);
  if (const auto taps = config.count({"conv_L_cache"}, most_layers); taps.value_or(0) > 0) {
    return state_bytes(HeadedStateShape{(*taps - 1) * embedding, 0, 0});
  }
  if (const auto kda = read_kda(config)) return state_bytes(*kda);
  const bool is_rwkv = summary.architecture && summary.architecture->starts_with("rwkv");
  if (is_rwkv) {
    const std::uint64_t head = config.count({"head_size", "head_dim"}).value_or(0);
    if (head > 0) return state_bytes(HeadedStateShape{2 * embedding, embedding / head, head});
  }
  const CacheRule* rule = find_cache_rule(summary.architecture.value_or(""));
  const bool is_delta = rule != nullptr && rule->kind == CacheKind::interval;
  if (is_delta && config.has_language_part()) return state_bytes(delta_shape(config));
  const StateShape shape{
      config.count({"linear_conv_kernel_dim", "mamba_d_conv", "conv_kernel"}),
      read_inner(config, summary),
      config.count({"linear_key_head_dim", "mamba_d_state", "ssm_state_size", "state_size"}),
      config.count({"linear_num_key_heads", "mamba_n_groups", "mamba_ngroups", "n_groups"})
          .value_or(0)};
  const auto bytes = state_bytes(shape);
  if (!bytes) missing.emplace_back("the size of the recurrent state in config.json");
  return bytes;
}

// Layers with an indexer of their own: as listed, by letters (S: shared), or each of so many layers
// after the first ones (configuration_glm_moe_dsa.py of transformers). Empty: unsaid.
std::vector<bool> read_indexers(ConfigReader& config, std::uint64_t layers) {
  constexpr std::uint64_t usual_offset = 2;
  std::vector<bool> indexers;
  if (const Json* types = config.find({"indexer_types"}); types != nullptr && types->is_array()) {
    for (const Json& type : *types) indexers.push_back(type == "full" || type == 1);
    return indexers;
  }
  if (const auto letters = config.text({"index_topk_pattern"})) {
    for (const char letter : *letters) indexers.push_back(letter != 'S');
    return indexers;
  }
  const std::uint64_t frequency = config.count({"index_topk_freq"}).value_or(0);
  if (frequency == 0) return indexers;
  const std::uint64_t offset = config.count({"index_skip_topk_offset"}).value_or(usual_offset);
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    const std::uint64_t after = layer + 1 > offset ? layer + 1 - offset : 0;
    indexers.push_back(after % frequency == 0);
  }
  return indexers;
}

// Of layers with a window, where the configuration names them by themselves.
void read_window_heads(ConfigReader& config, const ModelSummary& summary, CacheFacts& facts) {
  facts.window_heads = config.count({"swa_num_key_value_heads"});
  // modeling_mimo_v2_flash.py of transformers doubles them in place of the field of Xiaomi's file.
  const bool is_doubled = summary.architecture == "mimo_v2_flash" && !summary.kv_heads.empty();
  if (is_doubled && !facts.window_heads) facts.window_heads = 2 * summary.kv_heads.front();
  facts.window_key_length = config.count({"swa_head_dim"});
  facts.window_value_length = config.count({"swa_v_head_dim", "swa_head_dim"});
  const Json* type = config.find_in("attention_other_setting", "attention_type");  // Step 3.5
  if (type == nullptr || *type != "sliding_attention") return;
  facts.window_heads = config.count_in("attention_other_setting", "num_attention_groups");
  facts.window_key_length = config.count_in("attention_other_setting", "head_dim");
  facts.window_value_length = facts.window_key_length;
}

}  // namespace

CacheFacts read_config_caches(ConfigReader& config, const ModelSummary& summary) {
  CacheFacts facts;
  if (!summary.layers) return facts;
  LayerList(config, *summary.layers, facts).read();
  const Json* pattern = config.find(
      {"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"});
  if (pattern != nullptr && pattern->is_number_unsigned()) {
    facts.period = config.count(
        {"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"});
  }
  facts.interval = config.count({"full_attention_interval"});
  read_window_heads(config, summary, facts);
  facts.is_latent = summary.has_latent_attention;
  facts.shared_layers = config.count({"num_kv_shared_layers"}).value_or(0);
  facts.loops = read_loops(config, *summary.layers);
  facts.attends_to_encoder =
      config.is_true("is_encoder_decoder") || config.is_true("add_cross_attention");
  if (config.is_true("use_cla")) {  // Hunyuan: cross-layer attention
    facts.share_period = config.count({"cla_share_factor"}).value_or(0);
  }
  facts.indexer_length = config.count({"index_head_dim", "indexer_head_dim"});
  if (!facts.indexer_length) {
    facts.indexer_length = config.count_in("sparse_attention_config", "sparse_index_dim");
  }
  facts.indexers = read_indexers(config, *summary.layers);
  facts.state_bytes = read_state(config, summary, facts.missing_state_keys);
  // Defaults of each architecture's own would say which layers attend.
  const CacheRule* rule = find_cache_rule(summary.architecture.value_or(""));
  const bool needs_list = rule != nullptr && rule->kind == CacheKind::listed;
  if (needs_list && facts.kinds.empty()) facts.has_unknown_kinds = true;
  return facts;
}

}  // namespace hiptool::model
