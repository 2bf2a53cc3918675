// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "model/config_file.hpp"
#include "model/decoder_reading.hpp"
#include "model/metadata_counts.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

using ConfigJson = nlohmann::json;

/// The members of one object of a config.json. Each that is looked at is remembered, so that the
/// others can be refused.
class ConfigFields {
 public:
  ConfigFields(const ConfigJson& object, const std::filesystem::path& path, std::string prefix = {})
      : object_(object), path_(path), prefix_(std::move(prefix)) {}

  [[noreturn]] void refuse(const std::string& name, const std::string& why,
                           const std::string& hint = "use a model of a supported kind") const {
    const auto found = object_.find(name);
    const std::string value =
        found == object_.end() ? "absent"
                               : found->dump(-1, ' ', false, ConfigJson::error_handler_t::replace);
    refuse_decoder(path_,
                   in_quotes(prefix_ + name) + " is " +
                       (value.size() > 60 ? value.substr(0, 60) + "..." : value) + ", " + why,
                   hint);
  }

  /// Null where it is absent or null.
  const ConfigJson* find(const std::string& name) {
    used_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<std::uint64_t> count(const std::string& name, std::uint64_t most = most_extent) {
    const ConfigJson* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > most) {
      refuse(name, "not a whole number from 0 to " + std::to_string(most));
    }
    return value->get<std::uint64_t>();
  }
  std::uint64_t required_count(const std::string& name, std::uint64_t most = most_extent) {
    const auto value = count(name, most);
    if (!value || *value == 0) refuse(name, "which must be at least 1");
    return *value;
  }

  std::optional<double> number(const std::string& name) {
    const ConfigJson* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !std::isfinite(value->get<double>())) {
      refuse(name, "not a finite number");
    }
    return value->get<double>();
  }
  double positive(const std::string& name, double absent) {
    const double value = number(name).value_or(absent);
    if (!(value > 0)) refuse(name, "which must be above 0");
    return value;
  }
  double required_positive(const std::string& name) {
    if (find(name) == nullptr) refuse(name, "which this kind of scaling needs");
    return positive(name, 1);
  }

  bool flag(const std::string& name, bool absent) {
    const ConfigJson* value = find(name);
    if (value == nullptr) return absent;
    if (!value->is_boolean()) refuse(name, "not true or false");
    return value->get<bool>();
  }

  std::optional<std::string> text(const std::string& name) {
    const ConfigJson* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) refuse(name, "not a text");
    return value->get<std::string>();
  }

  std::vector<double> numbers(const std::string& name, std::uint64_t wanted) {
    const ConfigJson* value = find(name);
    if (value == nullptr || !value->is_array() || value->size() != wanted) {
      refuse(name, "not an array of " + std::to_string(wanted) + " numbers");
    }
    std::vector<double> numbers;
    for (const ConfigJson& element : *value) {
      if (!element.is_number() || !(element.get<double>() > 0)) {
        refuse(name, "which has an element that is not a number above 0");
      }
      numbers.push_back(element.get<double>());
    }
    return numbers;
  }

  /// Members that were not looked at, other than null, false, empty ones and the names given.
  template <typename Names>
  void refuse_others(const Names& harmless) const {
    for (const auto& [name, value] : object_.items()) {
      if (used_.count(name) > 0 || value.empty() || value == false) continue;
      if (base::contains(harmless, name)) continue;
      refuse(name, "and what it changes is unknown here", "remove it if it changes no result");
    }
  }

 private:
  const ConfigJson& object_;
  const std::filesystem::path& path_;
  std::string prefix_;
  std::unordered_set<std::string> used_;
};

// Members of a config that say how a model is trained, stored, sampled or shown.
constexpr std::array<std::string_view, 44> harmless_members{"_name_or_path",
                                                            "_attn_implementation",
                                                            "architectures",
                                                            "attention_dropout",
                                                            "auto_map",
                                                            "bad_words_ids",
                                                            "bos_token_id",
                                                            "chunk_size_feed_forward",
                                                            "diversity_penalty",
                                                            "do_sample",
                                                            "dtype",
                                                            "early_stopping",
                                                            "encoder_no_repeat_ngram_size",
                                                            "eos_token_id",
                                                            "finetuning_task",
                                                            "id2label",
                                                            "initializer_range",
                                                            "is_llama_config",
                                                            "label2id",
                                                            "length_penalty",
                                                            "max_length",
                                                            "min_length",
                                                            "neftune_noise_alpha",
                                                            "no_repeat_ngram_size",
                                                            "num_beam_groups",
                                                            "num_beams",
                                                            "num_return_sequences",
                                                            "pad_token_id",
                                                            "problem_type",
                                                            "repetition_penalty",
                                                            "return_dict",
                                                            "sep_token_id",
                                                            "task_specific_params",
                                                            "temperature",
                                                            "tokenizer_class",
                                                            "top_k",
                                                            "top_p",
                                                            "torch_dtype",
                                                            "transformers.js_config",
                                                            "transformers_version",
                                                            "typical_p",
                                                            "unsloth_fixed",
                                                            "unsloth_version",
                                                            "use_cache"};

void read_yarn(ConfigFields& fields, RopeSpec& rope) {
  rope.factor = fields.required_positive("factor");
  rope.beta_fast = fields.positive("beta_fast", 32);
  rope.beta_slow = fields.positive("beta_slow", 1);
  rope.truncates = fields.flag("truncate", true);
  const double scale = fields.number("mscale").value_or(0);
  const double scale_of_all = fields.number("mscale_all_dim").value_or(0);
  double implied = yarn_attention_factor(rope.factor);
  if (scale != 0 && scale_of_all != 0) {
    implied = yarn_attention_factor(rope.factor, scale) /
              yarn_attention_factor(rope.factor, scale_of_all);
  }
  rope.attention_factor = fields.positive("attention_factor", implied);
}

void read_longrope(ConfigFields& fields, std::uint64_t context_length, RopeSpec& rope) {
  rope.divisors = fields.numbers("short_factor", rope.dimensions / 2);
  rope.long_divisors = fields.numbers("long_factor", rope.dimensions / 2);
  const auto original = static_cast<double>(rope.original_context);
  const double factor = fields.positive("factor", static_cast<double>(context_length) / original);
  const double implied = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
  rope.attention_factor = fields.positive("attention_factor", implied);
}

void read_scaling(ConfigFields& fields, const std::string& type, std::uint64_t context_length,
                  RopeSpec& rope) {
  if (type == "default") return;
  if (type == "linear") {
    rope.scaling = RopeScaling::linear;
    rope.factor = fields.required_positive("factor");
    return;
  }
  if (const auto original = fields.count("original_max_position_embeddings")) {
    rope.original_context = *original;
  }
  if (rope.original_context == 0) rope.original_context = context_length;
  if (rope.original_context == 0) {
    fields.refuse("original_max_position_embeddings", "which this kind of scaling needs");
  }
  if (type == "yarn") {
    rope.scaling = RopeScaling::yarn;
    read_yarn(fields, rope);
  } else if (type == "llama3") {
    rope.scaling = RopeScaling::llama3;
    rope.factor = fields.required_positive("factor");
    rope.low_frequency_factor = fields.required_positive("low_freq_factor");
    rope.high_frequency_factor = fields.required_positive("high_freq_factor");
  } else if (type == "longrope") {
    rope.scaling = RopeScaling::longrope;
    read_longrope(fields, context_length, rope);
  } else if (type == "dynamic") {
    // _compute_dynamic_ntk_parameters: a sequence of so many tokens has the unscaled base.
    rope.scaling = RopeScaling::dynamic;
    rope.factor = fields.required_positive("factor");
    if (context_length > 0) {
      rope.original_context = std::min(rope.original_context, context_length);
    }
  } else {
    fields.refuse(fields.find("rope_type") != nullptr ? "rope_type" : "type",
                  "which is not supported",
                  "use default, linear, yarn, llama3, longrope or dynamic");
  }
}

// transformers 5 writes "rope_parameters" with the base, older ones "rope_scaling" and
// "rope_theta".
void read_rope_fields(ConfigFields& config, const std::filesystem::path& path, DecoderSpec& spec) {
  RopeSpec& rope = spec.rope;
  rope.pairs = RopePairs::halves;
  rope.dimensions = spec.key_length;
  rope.base = config.positive("rope_theta", 10000);
  if (config.number("partial_rotary_factor").value_or(1) != 1) {
    config.refuse("partial_rotary_factor", "which this architecture does not have");
  }
  rope.original_context = config.count("original_max_position_embeddings").value_or(0);
  const bool is_new = config.find("rope_parameters") != nullptr;
  const std::string name = is_new ? "rope_parameters" : "rope_scaling";
  const ConfigJson* object = config.find(name);
  if (is_new) config.find("rope_scaling");
  if (object == nullptr) return;
  if (!object->is_object()) config.refuse(name, "not an object");
  ConfigFields fields(*object, path, name + ".");
  rope.base = fields.positive("rope_theta", rope.base);
  if (fields.number("partial_rotary_factor").value_or(1) != 1) {
    fields.refuse("partial_rotary_factor", "which this architecture does not have");
  }
  const auto old_type = fields.text("type");
  const std::string type = fields.text("rope_type").value_or(old_type.value_or("default"));
  read_scaling(fields, type, spec.context_length, rope);
  fields.refuse_others(std::array<std::string_view, 1>{"original_max_position_embeddings"});
}

void read_attention_types(ConfigFields& config, std::uint64_t window, DecoderSpec& spec) {
  const ConfigJson* types = config.find("layer_types");
  if (types == nullptr) return;
  if (!types->is_array() || types->size() != spec.layers.size()) {
    config.refuse("layer_types", "which does not name one type for each layer");
  }
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    const ConfigJson& type = (*types)[layer];
    if (type != "full_attention" && type != "sliding_attention") {
      config.refuse("layer_types", "which has a type that is not supported");
    }
    if (type == "sliding_attention" && window == 0) {
      config.refuse("layer_types", "but 'sliding_window' is not given");
    }
    spec.layers[layer].window = type == "sliding_attention" ? window : 0;
  }
}

// configuration_mistral.py, configuration_qwen2.py and configuration_qwen3.py with their defaults.
void read_window_fields(ConfigFields& config, DecoderSpec& spec) {
  constexpr std::uint64_t usual = 4096;
  const bool is_named = config.find("sliding_window") != nullptr;
  const std::uint64_t window = config.count("sliding_window").value_or(0);
  if (spec.architecture == "llama") {
    if (is_named) config.refuse("sliding_window", "which this architecture does not have");
    read_attention_types(config, 0, spec);
    return;
  }
  if (spec.architecture == "mistral") {
    for (DecoderLayer& layer : spec.layers) layer.window = window;
    read_attention_types(config, window, spec);
    return;
  }
  const bool has_window = config.flag("use_sliding_window", false);
  const std::uint64_t first = config.count("max_window_layers").value_or(28);
  const std::uint64_t used = !has_window ? 0 : (is_named ? window : usual);
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    spec.layers[layer].window = layer >= first ? used : 0;
  }
  read_attention_types(config, used, spec);
}

DecoderTensors read_biases(ConfigFields& config, const DecoderSpec& spec) {
  const auto where = [](bool is_set) { return is_set ? Bias::always : Bias::never; };
  DecoderTensors tensors;
  if (spec.architecture == "llama" || spec.architecture == "qwen3") {
    const bool has_bias = config.flag("attention_bias", false);
    tensors.qkv_bias = where(has_bias);
    tensors.attention_output_bias = where(has_bias);
  }
  if (spec.architecture == "llama") {
    tensors.feed_forward_bias = where(config.flag("mlp_bias", false));
  }
  if (spec.architecture == "qwen2") tensors.qkv_bias = Bias::always;
  tensors.has_head_norms = spec.architecture == "qwen3";
  return tensors;
}

void read_dimensions(ConfigFields& config, DecoderSpec& spec) {
  spec.layers.resize(
      static_cast<std::size_t>(config.required_count("num_hidden_layers", most_layers)));
  spec.embedding = config.required_count("hidden_size");
  spec.vocabulary = config.required_count("vocab_size");
  spec.context_length = config.count("max_position_embeddings").value_or(0);
  const std::uint64_t heads = config.required_count("num_attention_heads", most_head_extent);
  // Only llama's default is the number of heads; the others' are those of one model each.
  const auto kv_heads = config.count("num_key_value_heads", most_head_extent);
  if (!kv_heads && spec.architecture != "llama") {
    config.refuse("num_key_value_heads", "which this architecture needs");
  }
  const std::uint64_t feed_forward = config.required_count("intermediate_size");
  for (DecoderLayer& layer : spec.layers) {
    layer.heads = heads;
    layer.kv_heads = kv_heads.value_or(heads);
    layer.feed_forward = feed_forward;
  }
  const std::uint64_t usual = spec.architecture == "qwen3" ? 128 : spec.embedding / heads;
  spec.key_length = config.count("head_dim", most_head_extent).value_or(usual);
  spec.value_length = spec.key_length;
  if (spec.key_length == 0) config.refuse("head_dim", "which must be at least 1");
  spec.attention_scale = 1 / std::sqrt(static_cast<double>(spec.key_length));
  spec.norm_epsilon = config.positive("rms_norm_eps", 1e-6);
}

}  // namespace

DecoderTensors read_decoder_config(const ModelFile& model, DecoderSpec& spec) {
  const std::filesystem::path path = model.folder() / "config.json";
  ConfigJson json;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    refuse_decoder(model.path(), "its folder has no config.json, which describes the decoder",
                   "copy the model's config.json to the folder of its safetensors");
  }
  if (const std::string problem = read_config_file(path, json); !problem.empty()) {
    refuse_decoder(path, problem, "the model's config.json must be next to its safetensors");
  }
  ConfigFields config(json, path);
  spec.architecture = config.text("model_type").value_or("");
  constexpr std::array<std::string_view, 4> known{"llama", "mistral", "qwen2", "qwen3"};
  if (!base::contains(known, spec.architecture)) {
    config.refuse("model_type", "which is not supported",
                  "supported are llama, mistral, qwen2 and qwen3");
  }
  read_dimensions(config, spec);
  const std::string act = config.text("hidden_act").value_or("silu");
  if (act != "silu" && act != "swish") config.refuse("hidden_act", "which is not supported");
  read_rope_fields(config, path, spec);
  read_window_fields(config, spec);
  spec.is_tied = config.flag("tie_word_embeddings", false);
  const DecoderTensors tensors = read_biases(config, spec);
  if (config.number("pretraining_tp").value_or(1) < 1) {
    config.refuse("pretraining_tp", "which must be at least 1");  // only splits the products
  }
  config.refuse_others(harmless_members);
  return tensors;
}

}  // namespace hiptool::model
