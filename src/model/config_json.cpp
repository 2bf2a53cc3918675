// SPDX-License-Identifier: MIT
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/config_file.hpp"
#include "model/metadata_counts.hpp"

namespace hiptool::model {
namespace {

using Json = nlohmann::json;
using Names = std::initializer_list<const char*>;

// Null, with a warning, for a file that cannot be used.
Json parse_config(const std::filesystem::path& path, ModelSummary& summary) {
  Json json;
  const std::string problem = read_config_file(path, json);
  if (problem.empty()) return json;
  summary.warnings.push_back(path.string() + " is ignored: " + problem);
  return {};
}

/// The fields of a config, of which those of its language part come first: models that also see or
/// hear keep it in an object of its own.
class Config {
 public:
  Config(const Json& whole, ModelSummary& summary) : whole_(whole), summary_(summary) {
    for (const char* name : {"text_config", "llm_config", "language_config"}) {
      const auto found = whole.find(name);
      if (found != whole.end() && found->is_object()) language_ = &*found;
    }
  }

  const Json* find(Names names) const {
    for (const Json* part : {language_, &whole_}) {
      if (part == nullptr) continue;
      for (const char* name : names) {
        const auto found = part->find(name);
        if (found != part->end() && !found->is_null()) return &*found;
      }
    }
    return nullptr;
  }

  std::optional<std::uint64_t> count(Names names, std::uint64_t most = most_count) {
    const Json* value = find(names);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    return believe(*names.begin(), *value, most);
  }

  std::vector<std::uint64_t> per_layer(Names names) {
    const Json* value = find(names);
    if (value == nullptr) return {};
    std::vector<std::uint64_t> counts;
    if (value->is_number()) {
      if (const auto one = believe(*names.begin(), *value, most_count)) counts.push_back(*one);
    } else if (value->is_array()) {
      for (const Json& element : *value) {
        const auto one = believe(*names.begin(), element, most_count);
        if (!one) return {};
        counts.push_back(*one);
      }
    }
    return for_each_layer(summary_, *names.begin(), std::move(counts));
  }

  std::optional<std::string> text(Names names) const {
    const Json* value = find(names);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return value->get<std::string>();
  }

 private:
  std::optional<std::uint64_t> believe(const char* name, const Json& value, std::uint64_t most) {
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{largest}) {
      return believable(summary_, name, largest, most);
    }
    if (value.is_number_integer()) {
      return believable(summary_, name, value.get<std::int64_t>(), most);
    }
    summary_.warnings.push_back(std::string(name) +
                                " in config.json is not a whole number and is ignored");
    return std::nullopt;
  }

  const Json& whole_;
  const Json* language_ = nullptr;
  ModelSummary& summary_;
};

// Layers of another kind than attention (linear, Mamba) keep a state instead of a cache.
void read_layer_types(const Config& config, ModelSummary& summary) {
  const Json* types = config.find({"layer_types", "layers_block_type"});
  if (types == nullptr || !types->is_array() || types->size() != summary.kv_heads.size()) return;
  for (std::size_t layer = 0; layer < types->size(); ++layer) {
    const Json& type = (*types)[layer];
    if (!type.is_string()) continue;
    const auto& name = type.get_ref<const std::string&>();
    const bool attends =
        name.find("attention") != std::string::npos && name.rfind("linear", 0) != 0;
    if (attends) continue;
    summary.kv_heads[layer] = 0;
    summary.is_recurrent = true;
  }
}

void read_fields(Config config, ModelSummary& summary) {
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
  summary.context_length =
      config.count({"max_position_embeddings", "n_positions", "max_sequence_length", "seq_length"});
  summary.embedding_length = config.count({"hidden_size", "n_embd", "d_model"});
  summary.feed_forward_length =
      config.per_layer({"intermediate_size", "n_inner", "ffn_dim", "d_ff"});
  summary.heads = config.per_layer({"num_attention_heads", "n_head", "n_heads", "num_query_heads"});
  summary.kv_heads = config.per_layer({"num_key_value_heads", "num_kv_heads"});
  summary.key_length = config.count({"head_dim"});
  summary.value_length = summary.key_length;
  const Json* uses_window = config.find({"use_sliding_window"});
  if (uses_window == nullptr || *uses_window != false) {
    summary.sliding_window = config.count({"sliding_window"});
  }
  summary.experts = config.count({"num_local_experts", "n_routed_experts", "num_experts"});
  summary.experts_used = config.count({"num_experts_per_tok", "num_experts_per_token"});
  summary.vocabulary_size = config.count({"vocab_size"});
  // Multi-head latent attention caches one compressed vector and one rotated key for all heads
  // (DeepSeek-V2, section 2.1); llama.cpp counts its values once more.
  const auto rank = config.count({"kv_lora_rank"});
  const auto rotated = config.count({"qk_rope_head_dim"});
  if (rank && rotated) {
    summary.has_latent_attention = true;
    summary.kv_heads = for_each_layer(summary, "num_key_value_heads", {1});
    summary.key_length = *rank + *rotated;
    summary.value_length = *rank;
  }
  complete(summary, {"num_hidden_layers", "num_attention_heads", "head_dim"});
  read_layer_types(config, summary);
}

}  // namespace

void read_config_json(const ModelFile& model, ModelSummary& summary) {
  const std::filesystem::path folder = model.files().front().path.parent_path();
  const std::filesystem::path path = folder / "config.json";
  std::error_code ignored;
  Json json = Json::object();
  if (std::filesystem::exists(path, ignored)) json = parse_config(path, summary);
  if (json.is_null()) json = Json::object();
  read_fields(Config(json, summary), summary);
  for (std::string& key : summary.missing_keys) key += " in config.json";
}

}  // namespace hiptool::model
