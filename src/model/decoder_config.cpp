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
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "model/config_fields.hpp"
#include "model/config_file.hpp"
#include "model/decoder_config_parts.hpp"
#include "model/decoder_delta.hpp"
#include "model/decoder_latents.hpp"
#include "model/decoder_reading.hpp"
#include "model/decoder_scales.hpp"
#include "model/metadata_counts.hpp"
#include "model/parts.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

// Members of a config that say how a model is trained, stored, sampled or shown.
constexpr std::array<std::string_view, 45> harmless_members{"_name_or_path",
                                                            "_attn_implementation",
                                                            "architectures",
                                                            "attention_dropout",
                                                            "auto_map",
                                                            "bad_words_ids",
                                                            "bos_token_id",
                                                            "cache_implementation",
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
  } else if (type == "longrope" || type == "su") {  // the name in old files of phi3
    rope.scaling = RopeScaling::longrope;
    read_longrope(fields, context_length, rope);
  } else if (type == "dynamic") {
    // _compute_dynamic_ntk_parameters: a sequence of this length has the unscaled base.
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

void read_partial_rope(ConfigFields& fields, const DecoderArchitecture& kind,
                       std::uint64_t key_length, std::optional<double> absent, RopeSpec& rope) {
  const auto given = fields.number("partial_rotary_factor");
  if (!given && !absent) return;
  const double part = given ? *given : *absent;
  if (!kind.has_partial_rope) {
    if (part == 1) return;
    fields.refuse("partial_rotary_factor", "which this architecture does not have");
  }
  if (!(part > 0 && part <= 1)) fields.refuse("partial_rotary_factor", "which is not a share");
  rope.dimensions = static_cast<std::uint64_t>(part * static_cast<double>(key_length));
}

void read_rope_object(ConfigFields& config, const DecoderArchitecture& kind,
                      const std::string& name, const ConfigJson& object,
                      const std::filesystem::path& path, DecoderSpec& spec, RopeSpec& rope) {
  if (!object.is_object()) config.refuse(name, "not an object");
  ConfigFields fields(object, path, name + ".");
  rope.base = fields.positive("rope_theta", rope.base);
  read_partial_rope(fields, kind, spec.key_length, std::nullopt, rope);
  if (kind.delta_period > 0) {
    // Positions in images (modeling_qwen3_5.py).
    for (const char* member : {"mrope_section", "mrope_interleaved"}) fields.find(member);
  }
  if (kind.has_temperature) {
    spec.temperature_scale = fields.number("llama_4_scaling_beta").value_or(0);
    fields.find("max_position_embeddings");  // a copy of the outer one
  }
  const auto old_type = fields.text("type");
  const std::string type = fields.text("rope_type").value_or(old_type.value_or("default"));
  read_scaling(fields, type, spec.context_length, rope);
  fields.refuse_others(std::array<std::string_view, 1>{"original_max_position_embeddings"});
}

// configuration_gemma3.py: "rope_parameters" by kind of layer; older files have "rope_theta" and
// "rope_scaling" of layers without a window, and "rope_local_base_freq".
void read_two_ropes(ConfigFields& config, const DecoderArchitecture& kind,
                    const std::filesystem::path& path, DecoderSpec& spec) {
  RopeSpec& rope = spec.rope;
  rope.pairs = RopePairs::halves;
  rope.dimensions = spec.key_length;
  spec.local_rope = rope;
  const bool is_unscaled = kind.has_unscaled_local_rope;
  rope.base = config.positive("rope_theta", is_unscaled ? kind.config_rope_base : 1'000'000);
  spec.local_rope.base =
      is_unscaled ? rope.base : config.positive("rope_local_base_freq", kind.local_rope_base);
  const ConfigJson* const scaling = config.find("rope_scaling");
  const ConfigJson* const both = config.find("rope_parameters");
  if (both == nullptr) {
    if (scaling == nullptr) return;
    read_rope_object(config, kind, "rope_scaling", *scaling, path, spec, rope);
    return;
  }
  if (!both->is_object()) config.refuse("rope_parameters", "not an object");
  ConfigFields kinds(*both, path, "rope_parameters.");
  const auto read = [&](const char* name, RopeSpec& own) {
    if (const ConfigJson* object = kinds.find(name)) {
      read_rope_object(kinds, kind, name, *object, path, spec, own);
    }
  };
  read("full_attention", rope);
  read("sliding_attention", spec.local_rope);
  kinds.refuse_others(std::array<std::string_view, 0>{});
}

// transformers 5 writes "rope_parameters" with the base, older ones "rope_scaling" and
// "rope_theta".
void read_rope_fields(ConfigFields& config, const DecoderArchitecture& kind,
                      const std::filesystem::path& path, DecoderSpec& spec) {
  RopeSpec& rope = spec.rope;
  rope.pairs = kind.config_pairs;
  if (rope.dimensions == 0) rope.dimensions = spec.key_length;
  rope.base = config.positive("rope_theta", kind.config_rope_base);
  read_partial_rope(config, kind, spec.key_length, kind.config_partial_rope, rope);
  rope.original_context = config.count("original_max_position_embeddings").value_or(0);
  const bool is_new = config.find("rope_parameters") != nullptr;
  const std::string name = is_new ? "rope_parameters" : "rope_scaling";
  const ConfigJson* object = config.find(name);
  if (is_new) config.find("rope_scaling");
  if (object == nullptr) return;
  read_rope_object(config, kind, name, *object, path, spec, rope);
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

// Each architecture's configuration_*.py has the defaults.
void read_window_fields(ConfigFields& config, const DecoderArchitecture& architecture,
                        DecoderSpec& spec) {
  const ConfigWindow kind = architecture.config_window;
  const std::uint64_t window = config.has("sliding_window")
                                   ? config.count("sliding_window").value_or(0)
                                   : architecture.config_window_tokens;
  if (kind == ConfigWindow::none) {
    if (config.find("sliding_window") != nullptr)
      config.refuse("sliding_window", "which this architecture does not have");
    read_attention_types(config, 0, spec);
    return;
  }
  if (kind == ConfigWindow::everywhere) {
    for (DecoderLayer& layer : spec.layers) layer.window = window;
    read_attention_types(config, window, spec);
    return;
  }
  if (kind == ConfigWindow::in_periods || kind == ConfigWindow::in_periods_or_none) {
    const bool is_optional = kind == ConfigWindow::in_periods_or_none;
    if (window == 0 && !is_optional) {
      config.refuse("sliding_window", "which must be at least 1");
    }
    const auto saved = config.count("_sliding_window_pattern");  // next to layer_types
    // Where layer_types says it, a text such as LLLG repeats it.
    const ConfigJson* const pattern = config.find("sliding_window_pattern");
    const bool is_text =
        pattern != nullptr && pattern->is_string() && config.find("layer_types") != nullptr;
    if (window == 0) {
      read_attention_types(config, 0, spec);
      return;
    }
    const std::uint64_t usual_period = saved.value_or(architecture.window_period);
    const std::uint64_t period =
        is_text ? usual_period : config.count("sliding_window_pattern").value_or(usual_period);
    if (period == 0) config.refuse("sliding_window_pattern", "which must be at least 1");
    for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
      spec.layers[layer].window = is_in_period(layer, period) ? window : 0;
    }
    read_attention_types(config, window, spec);
    return;
  }
  const bool has_window = config.flag("use_sliding_window", false);
  const std::uint64_t last = config.count("max_window_layers").value_or(28);
  const std::uint64_t first = kind == ConfigWindow::if_used ? 0 : last;
  const std::uint64_t used = has_window ? window : 0;
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    spec.layers[layer].window = layer >= first ? used : 0;
  }
  read_attention_types(config, used, spec);
}

DecoderBiases read_biases(ConfigFields& config, const DecoderArchitecture& kind) {
  const auto where = [](bool is_set) { return is_set ? Bias::always : Bias::never; };
  DecoderBiases biases = kind.config_biases;
  if (kind.has_attention_bias_key) {
    biases.qkv = where(config.flag("attention_bias", biases.qkv == Bias::always));
    if (kind.has_output_bias_key) biases.attention_output = biases.qkv;
  }
  if (kind.has_mlp_bias_key) biases.feed_forward = where(config.flag("mlp_bias", false));
  return biases;
}

// configuration_qwen3_moe.py; every layer has experts.
void read_experts(ConfigFields& config, const DecoderArchitecture& kind, DecoderSpec& spec) {
  config.flag("output_router_logits", false);
  config.number("router_aux_loss_coef");  // of training
  if (kind.has_packed_experts) {
    read_packed_experts(config, spec);
    return;
  }
  if (kind.has_numbered_expert_names) {
    read_mixtral_experts(config, spec);
    return;
  }
  if (kind.has_shares) {
    read_config_shares(config, kind, spec);
    return;
  }
  if (kind.delta_period > 0) {
    read_config_gated_experts(config, kind, spec);
    return;
  }
  if (config.count("decoder_sparse_step").value_or(1) != 1) {
    config.refuse("decoder_sparse_step", "but here all layers have experts");
  }
  if (const ConfigJson* plain = config.find("mlp_only_layers"); plain && !plain->empty()) {
    config.refuse("mlp_only_layers", "but here all layers have experts");
  }
  ExpertsSpec experts = read_expert_counts(config, "num_experts");
  experts.is_normalised = config.flag("norm_topk_prob", false);
  const std::uint64_t feed_forward = config.required_count("moe_intermediate_size");
  for (DecoderLayer& layer : spec.layers) {
    layer.experts = experts;
    layer.feed_forward = feed_forward;
  }
  // Written by the makers of Qwen3-Coder; transformers does not read them.
  if (config.count("shared_expert_intermediate_size").value_or(0) != 0) {
    config.refuse("shared_expert_intermediate_size", "which this architecture does not have");
  }
  if (!config.flag("use_qk_norm", true)) {
    config.refuse("use_qk_norm", "but this architecture has these norms");
  }
}

void read_gate(ConfigFields& config, const DecoderArchitecture& kind, DecoderSpec& spec) {
  spec.gate = kind.gate;
  if (kind.gate != GateKind::gelu) {
    const std::string act = config.text("hidden_act").value_or("silu");
    if (act != "silu" && act != "swish") config.refuse("hidden_act", "which is not supported");
    return;
  }
  // transformers does not read "hidden_act" of these.
  config.find("hidden_act");
  const std::string act = config.text("hidden_activation").value_or("gelu_pytorch_tanh");
  if (act != "gelu_pytorch_tanh") config.refuse("hidden_activation", "which is not supported");
}

// modeling_gemma3.py and modeling_gemma2.py.
void read_scale_fields(ConfigFields& config, const DecoderArchitecture& kind,
                       const ModelFile& model, DecoderSpec& spec) {
  spec.norm_offset = kind.config_norm_offset;
  if (has_two_ropes(kind)) {
    for (DecoderLayer& layer : spec.layers) layer.has_local_rope = layer.window > 0;
  }
  if (kind.has_multipliers) read_multipliers(config, spec);
  if (kind.has_temperature) {
    spec.temperature_tokens = spec.rope.original_context;
    if (spec.temperature_scale != 0 && spec.temperature_tokens == 0) {
      config.refuse("rope_parameters", "which lacks 'original_max_position_embeddings'");
    }
  }
  if (!kind.has_embedding_scale) return;
  spec.embedding_scale = embedding_scale_of(model, spec.embedding);
  spec.attention_scale = 1 / std::sqrt(config.positive("query_pre_attn_scalar", 256));
  if (kind.has_softcaps) {
    const auto read = [&](const char* name, double absent) {
      if (!config.has(name)) return absent;
      return config.find(name) != nullptr ? config.positive(name, 1) : 0;
    };
    spec.attention_softcap = read("attn_logit_softcapping", 50);
    spec.logit_softcap = read("final_logit_softcapping", 30);
    return;
  }
  for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    if (config.find(name) != nullptr) config.refuse(name, "which this architecture does not have");
  }
}

void read_dimensions(ConfigFields& config, const DecoderArchitecture& kind, DecoderSpec& spec) {
  spec.layers.resize(
      static_cast<std::size_t>(config.required_count("num_hidden_layers", most_layers)));
  spec.embedding = config.required_count("hidden_size");
  const auto required = [&](const char* name, std::uint64_t absent, std::uint64_t most) {
    return absent > 0 && !config.has(name) ? absent : config.required_count(name, most);
  };
  spec.vocabulary = required("vocab_size", kind.config_vocabulary, most_extent);
  spec.context_length = config.count("max_position_embeddings").value_or(0);
  const std::uint64_t heads = required("num_attention_heads", kind.config_heads, most_head_extent);
  // Only llama's default is the number of heads; the others' are taken from one model each.
  auto kv_heads = config.count("num_key_value_heads", most_head_extent);
  if (kind.config_kv_heads > 0 && !config.has("num_key_value_heads")) {
    kv_heads = kind.config_kv_heads;
  }
  if (!kv_heads && kind.needs_kv_heads) {
    config.refuse("num_key_value_heads", "which this architecture needs");
  }
  // transformers does not read it where all layers have experts.
  const bool has_mlp = kind.delta_period == 0 || !kind.has_experts;
  const std::uint64_t feed_forward = has_mlp ? config.required_count("intermediate_size")
                                             : config.count("intermediate_size").value_or(0);
  for (DecoderLayer& layer : spec.layers) {
    layer.heads = heads;
    layer.kv_heads = kv_heads.value_or(heads);
    layer.feed_forward = feed_forward;
  }
  spec.norm_epsilon = config.positive(kind.is_parallel ? "layer_norm_eps" : "rms_norm_eps",
                                      kind.config_norm_epsilon);
  if (kind.has_latents) return read_config_latents(config, spec);
  const std::uint64_t usual =
      kind.config_head_length > 0 ? kind.config_head_length : spec.embedding / heads;
  spec.key_length = config.count("head_dim", most_head_extent).value_or(usual);
  spec.value_length = spec.key_length;
  if (spec.key_length == 0) config.refuse("head_dim", "which must be at least 1");
  spec.attention_scale = 1 / std::sqrt(static_cast<double>(spec.key_length));
}

}  // namespace

DecoderTensors read_decoder_config(const ModelFile& model, DecoderSpec& spec) {
  const std::filesystem::path path = model.folder() / "config.json";
  ConfigJson json;
  std::error_code ignored;
  if (std::filesystem::is_symlink(path, ignored)) {
    if (const auto why = why_missing(path)) refuse_decoder(path, *why, "download the model again");
  }
  if (!std::filesystem::exists(path, ignored)) {
    refuse_decoder(model.path(), "its folder has no config.json, which describes the decoder",
                   "copy the model's config.json to the folder of its safetensors");
  }
  if (const std::string problem = read_config_file(path, json); !problem.empty()) {
    refuse_decoder(path, problem, "the model's config.json must be next to its safetensors");
  }
  const bool is_part = is_with_images(json);
  ConfigFields config(is_part ? json["text_config"] : json, path, is_part ? "text_config." : "");
  spec.architecture = config.text("model_type").value_or("");
  const DecoderArchitecture* const kind = find_config_architecture(spec.architecture);
  if (kind == nullptr) {
    config.refuse("model_type", "which is not supported",
                  "supported are " + known_architectures(false));
  }
  read_dimensions(config, *kind, spec);
  if (kind->has_experts) read_experts(config, *kind, spec);
  read_gate(config, *kind, spec);
  if (has_two_ropes(*kind)) {
    read_two_ropes(config, *kind, path, spec);
  } else if (kind->has_latents) {
    read_rope_fields(config, *kind, path, spec);
    read_config_latent_rope(config, path, spec);
  } else {
    read_rope_fields(config, *kind, path, spec);
  }
  if (kind->has_sinks && spec.rope.scaling != RopeScaling::yarn) {
    config.refuse("rope_scaling", "but this architecture is known with yarn alone");
  }
  if (kind->delta_period > 0) {
    read_config_delta(config, *kind, spec);
  } else {
    read_window_fields(config, *kind, spec);
  }
  read_plain_layers(config, *kind, config.find("layer_types") != nullptr, spec);
  read_scale_fields(config, *kind, model, spec);
  spec.is_tied = config.flag("tie_word_embeddings", kind->is_tied_by_default);
  if (is_part && ConfigFields(json, path).flag("tie_word_embeddings", false)) spec.is_tied = true;
  DecoderTensors tensors{kind, read_biases(config, *kind), is_part};
  if (kind->has_shares) tensors.further_layers = read_further_layers(config);
  if (kind->has_optional_head_norms) tensors.lacks_head_norms = !config.flag("use_qk_norm", false);
  read_block_scales(is_part ? json["text_config"] : json, config, path, tensors);
  if (config.number("pretraining_tp").value_or(1) < 1) {
    config.refuse("pretraining_tp", "which must be at least 1");  // only splits the products
  }
  if (kind->has_fused_matrices) read_neutral_fields(config);
  if (kind->is_parallel) read_cohere_fields(config, spec);
  if (!config.flag("is_causal", true)) config.refuse("is_causal", "but this decoder is causal");
  config.refuse_others(harmless_members);
  return tensors;
}

}  // namespace hiptool::model
