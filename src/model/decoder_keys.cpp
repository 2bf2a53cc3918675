// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "model/decoder_delta.hpp"
#include "model/decoder_reading.hpp"
#include "model/gguf_keys.hpp"
#include "model/metadata_counts.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

/// A key that these architectures do not read, with the value that changes nothing.
struct NeutralKey {
  std::string_view name;
  double value;
};

constexpr std::array<NeutralKey, 15> neutral_keys{{{"attention.max_alibi_bias", 0},
                                                   {"attention.clamp_kqv", 0},
                                                   {"attention.scale", 0},
                                                   {"attn_logit_softcapping", 0},
                                                   {"final_logit_softcapping", 0},
                                                   {"embedding_scale", 1},
                                                   {"residual_scale", 1},
                                                   {"logit_scale", 1},
                                                   {"expert_count", 0},
                                                   {"expert_used_count", 0},
                                                   {"rope.scaling.yarn_ext_factor", 1},
                                                   {"rope.scaling.yarn_attn_factor", 1},
                                                   {"rope.scaling.yarn_log_multiplier", 0},
                                                   {"nextn_predict_layers", 0},
                                                   {"pooling_type", 0}}};

void check_neutral(const ModelFile& model, const DecoderArchitecture& kind, GgufKeys& keys) {
  for (const NeutralKey& neutral : neutral_keys) {
    if (keys.is_used(neutral.name)) continue;
    const auto value = keys.number(neutral.name);
    if (value && *value != neutral.value) {
      keys.refuse(neutral.name, "which this architecture does not have");
    }
  }
  for (const auto& [name, wanted] :
       {std::pair{"attention.causal", true}, std::pair{"use_parallel_residual", false}}) {
    if (!keys.has(name)) continue;
    keys.ignore(name);
    if (model.boolean(keys.key(name)) != std::optional(wanted)) {
      keys.refuse(name, "which this architecture does not have");
    }
  }
  keys.ignore("tensor_data_layout");  // how the converter ordered q and k
  // llama.cpp's models/granite.cpp takes false for a model without positions; others ignore it.
  constexpr std::string_view finetuned = "rope.scaling.finetuned";
  if (keys.has(finetuned)) {
    keys.ignore(finetuned);
    if (kind.has_multipliers && model.boolean(keys.key(finetuned)) != std::optional(true)) {
      keys.refuse(finetuned, "which leaves out the rotary embedding");
    }
  }
}

// llama.cpp's llama_model::load_hparams and llama_context: a factor without a type is linear.
void read_rope_keys(GgufKeys& keys, const DecoderArchitecture& kind, DecoderSpec& spec) {
  RopeSpec& rope = spec.rope;
  rope.pairs = kind.gguf_pairs;
  rope.dimensions = keys.count("rope.dimension_count").value_or(spec.key_length);
  rope.base = keys.positive("rope.freq_base", 10000);
  const double old_factor = keys.positive("rope.scale_linear", 1);
  const double factor = keys.number("rope.scaling.factor").value_or(0);
  rope.factor = keys.has("rope.scaling.factor") ? factor : old_factor;
  if (rope.factor == 0) rope.factor = 1;  // llama.cpp's word for none
  if (rope.factor < 0) keys.refuse("rope.scaling.factor", "which must be above 0");
  const double attention_factor = keys.positive("rope.scaling.attn_factor", 1);
  // The converter of phi3 writes the factors of longrope, but no type.
  const bool has_factors = kind.has_partial_rope && keys.has("rope.scaling.attn_factor");
  const std::string type =
      keys.text("rope.scaling.type").value_or(has_factors ? "longrope" : "linear");
  rope.original_context =
      keys.count("rope.scaling.original_context_length").value_or(spec.context_length);
  rope.beta_fast = keys.positive("rope.scaling.yarn_beta_fast", 32);
  rope.beta_slow = keys.positive("rope.scaling.yarn_beta_slow", 1);
  if (type == "none") {
    rope.factor = 1;
  } else if (type == "linear") {
    rope.scaling = rope.factor == 1 ? RopeScaling::none : RopeScaling::linear;
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::yarn;
    rope.attention_factor = attention_factor * yarn_attention_factor(rope.factor);
    if (kind.has_temperature) {
      // llama.cpp's llama-context.cpp: by what mscale_all_dim takes back.
      const double scale = keys.number("rope.scaling.yarn_log_multiplier").value_or(0);
      if (scale != 0) rope.attention_factor /= yarn_attention_factor(rope.factor, scale);
    }
    if (rope.original_context == 0) keys.refuse_missing("rope.scaling.original_context_length");
  } else if (type == "longrope") {
    if (rope.factor != 1) keys.refuse("rope.scaling.factor", "which longrope does not have");
    rope.scaling = RopeScaling::longrope;
    rope.attention_factor = attention_factor;
    if (rope.original_context == 0) keys.refuse_missing("rope.scaling.original_context_length");
  } else {
    keys.refuse("rope.scaling.type", "which is not known", "use none, linear, yarn or longrope");
  }
  const bool uses_attention_factor =
      rope.scaling == RopeScaling::yarn || rope.scaling == RopeScaling::longrope;
  if (attention_factor != 1 && !uses_attention_factor) {
    keys.refuse("rope.scaling.attn_factor", "which only yarn and longrope have");
  }
}

// 0: no layer has a window.
std::uint64_t read_window(GgufKeys& keys, const DecoderArchitecture& kind,
                          const DecoderSpec& spec) {
  const std::uint64_t of_layers = kind.gguf_window_layers;
  const bool has_usual = of_layers == 0 || of_layers == spec.layers.size();
  return keys.count("attention.sliding_window").value_or(has_usual ? kind.gguf_window : 0);
}

void read_windows(GgufKeys& keys, const DecoderArchitecture& kind, DecoderSpec& spec) {
  const std::uint64_t window = read_window(keys, kind, spec);
  constexpr std::string_view pattern = "attention.sliding_window_pattern";
  const std::size_t layers = spec.layers.size();
  std::vector<bool> has_window(layers, true);
  if (const auto flags = keys.flags(pattern)) {
    if (flags->size() != layers) {
      keys.refuse(pattern, "which does not fit " + base::plain_count_of(layers, "layer"));
    }
    has_window = *flags;
  } else if (const auto period = keys.count(pattern).value_or(kind.window_period); period > 0) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      has_window[layer] = is_in_period(layer, period);
    }
  }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    spec.layers[layer].has_local_rope = window > 0 && has_window[layer] && has_local_rope(kind);
    spec.layers[layer].window = has_window[layer] ? window : 0;
  }
}

void read_layer_keys(GgufKeys& keys, const DecoderArchitecture& kind, DecoderSpec& spec) {
  const std::size_t layers = spec.layers.size();
  const auto heads = keys.per_layer("attention.head_count", layers);
  if (heads.empty()) keys.refuse_missing("attention.head_count");
  auto kv_heads = keys.per_layer("attention.head_count_kv", layers);
  if (kv_heads.empty()) kv_heads = heads;
  auto feed_forward = keys.per_layer("feed_forward_length", layers);
  if (feed_forward.empty() && kind.delta_period > 0 && kind.has_experts) {
    // Files of qwen35moe have the length of experts alone.
    feed_forward.assign(layers, keys.required_count("expert_feed_forward_length"));
  }
  if (feed_forward.empty()) keys.refuse_missing("feed_forward_length");
  for (std::size_t layer = 0; layer < layers; ++layer) {
    spec.layers[layer].heads = heads[layer];
    spec.layers[layer].kv_heads = kv_heads[layer];
    spec.layers[layer].feed_forward = feed_forward[layer];
    if (heads[layer] > most_head_extent) keys.refuse("attention.head_count", "out of range");
    if (feed_forward[layer] == 0) keys.refuse("feed_forward_length", "which must be at least 1");
  }
  const std::uint64_t usual = heads.front() == 0 ? 0 : spec.embedding / heads.front();
  spec.key_length = keys.count("attention.key_length", most_head_extent).value_or(usual);
  spec.value_length = keys.count("attention.value_length", most_head_extent).value_or(usual);
  if (spec.key_length == 0) keys.refuse("attention.key_length", "which must be at least 1");
  if (spec.value_length == 0) keys.refuse("attention.value_length", "which must be at least 1");
}

// llama.cpp's models/granite.cpp: 0 is its word for none.
void read_multipliers(GgufKeys& keys, DecoderSpec& spec) {
  const auto read = [&](std::string_view name, double absent) {
    const double number = keys.number(name).value_or(0);
    return number == 0 ? absent : number;
  };
  spec.embedding_scale = read("embedding_scale", 1);
  spec.residual_scale = read("residual_scale", 1);
  spec.attention_scale = read("attention.scale", spec.attention_scale);
  if (!keys.has("logit_scale")) keys.refuse_missing("logit_scale");
  spec.logit_scale = 1 / keys.positive("logit_scale", 1);
}

// llama.cpp's models/gemma3.cpp and gemma2.cpp: so many layers are the 27B model, whose scale is
// not given by its heads.
void read_scales(GgufKeys& keys, const DecoderArchitecture& kind, DecoderSpec& spec) {
  spec.gate = kind.gate;
  if (has_local_rope(kind)) {
    // Without the scaling of the other layers.
    spec.local_rope.pairs = spec.rope.pairs;
    spec.local_rope.dimensions = spec.rope.dimensions;
    const double usual = kind.has_unscaled_local_rope ? spec.rope.base : kind.local_rope_base;
    spec.local_rope.base = keys.positive("rope.freq_base_swa", usual);
  }
  constexpr const char* window = "attention.sliding_window";
  const bool needs_window = kind.has_rope_in_windows_only && kind.is_parallel;
  if (needs_window && keys.count(window).value_or(0) == 0) keys.refuse_missing(window);
  name_plain_layers(kind, read_window(keys, kind, spec) > 0, spec);
  if (kind.has_softcaps) {
    spec.attention_softcap = keys.positive("attn_logit_softcapping", 50);
    spec.logit_softcap = keys.positive("final_logit_softcapping", 30);
  }
  if (kind.has_multipliers) read_multipliers(keys, spec);
  if (kind.is_parallel) {
    if (!keys.has("logit_scale")) keys.refuse_missing("logit_scale");
    spec.logit_scale = keys.positive("logit_scale", 1);
  }
  if (kind.has_temperature) {
    spec.temperature_scale = keys.number("attention.temperature_scale").value_or(0);
    spec.temperature_tokens = spec.rope.original_context;
    if (spec.temperature_scale != 0 && spec.temperature_tokens == 0) {
      keys.refuse_missing("rope.scaling.original_context_length");
    }
  }
  if (!kind.has_embedding_scale) return;
  spec.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(spec.embedding)));
  const std::size_t layers_of_27b = kind.has_softcaps ? 46 : 62;
  if (spec.layers.size() == layers_of_27b) {
    spec.attention_scale = 1 / std::sqrt(static_cast<double>(spec.embedding) /
                                         static_cast<double>(spec.layers.front().heads));
  }
}

// llama.cpp's models/deepseek2.cpp and conversion/deepseek.py: files with attn_k_b and attn_v_b
// describe one head of the latent, and the others by the "_mla" keys.
void read_latent_keys(GgufKeys& keys, DecoderSpec& spec) {
  const std::uint64_t length = keys.required_count("attention.kv_lora_rank", most_head_extent);
  const std::uint64_t query_length =
      keys.count("attention.q_lora_rank", most_head_extent).value_or(0);
  for (DecoderLayer& layer : spec.layers) {
    layer.kv_heads = layer.heads;
    layer.latent.length = length;
    layer.latent.query_length = query_length;
    layer.latent.norm_epsilon = spec.norm_epsilon;
  }
  if (keys.has("attention.key_length_mla")) {
    spec.key_length = keys.required_count("attention.key_length_mla", most_head_extent);
    spec.value_length = keys.required_count("attention.value_length_mla", most_head_extent);
  }
}

// llama.cpp's llama-graph.cpp (build_moe_ffn): groups are as good as their two best experts,
// whatever makes the shares.
void read_share_keys(GgufKeys& keys, const DecoderArchitecture& kind, DecoderSpec& spec) {
  const std::uint64_t dense = keys.count("leading_dense_block_count").value_or(0);
  const std::uint64_t shared = keys.count("expert_shared_count", most_experts).value_or(0);
  constexpr std::uint64_t softmax = 1;
  constexpr std::uint64_t sigmoid = 2;
  std::uint64_t function = keys.count("expert_gating_func").value_or(0);
  if (function == 0) function = kind.has_latents ? softmax : sigmoid;  // DeepSeek V2's lack it
  if (function != softmax && function != sigmoid) {
    keys.refuse("expert_gating_func", "which is not known", "use 1 (softmax) or 2 (sigmoid)");
  }
  const bool is_normalised = keys.flag("expert_weights_norm").value_or(false);
  const double scale = keys.number("expert_weights_scale").value_or(0);
  const std::uint64_t groups = keys.count("expert_group_count", most_experts).value_or(0);
  const std::uint64_t groups_used = keys.count("expert_group_used_count", most_experts).value_or(0);
  const auto dense_length = keys.per_layer("feed_forward_length", spec.layers.size());
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    DecoderLayer& layer = spec.layers[number];
    ExpertsSpec& experts = layer.experts;
    if (number < dense) {
      experts = {};
      layer.feed_forward = dense_length[number];
      continue;
    }
    experts.share = function == sigmoid ? ExpertShare::sigmoid : ExpertShare::softmax;
    experts.is_normalised = is_normalised;
    experts.scale = scale == 0 ? 1 : scale;
    experts.shared_feed_forward = shared * layer.feed_forward;
    if (groups <= 1) continue;
    experts.groups = groups;
    experts.groups_used = groups_used;
    experts.group_best = 2;
  }
  if (!(scale >= 0)) keys.refuse("expert_weights_scale", "which must be above 0");
}

// llama.cpp's llama-model.cpp and models/qwen3moe.cpp.
void read_expert_keys(GgufKeys& keys, const DecoderArchitecture& kind, DecoderSpec& spec) {
  const std::uint64_t count = keys.required_count("expert_count", most_experts);
  const std::uint64_t used = keys.required_count("expert_used_count", count);
  const auto feed_forward = keys.count("expert_feed_forward_length");
  if (kind.delta_period > 0) read_gated_expert_keys(keys, spec);
  for (DecoderLayer& layer : spec.layers) {
    layer.experts.count = count;
    layer.experts.used = used;
    // That of llama is of each expert.
    const std::uint64_t usual = layer.feed_forward / (kind.may_have_experts ? 1 : used);
    layer.feed_forward = feed_forward.value_or(0) > 0 ? *feed_forward : usual;
    if (layer.feed_forward == 0) {
      keys.refuse("expert_feed_forward_length", "which must be at least 1");
    }
  }
  if (kind.has_shares) {
    read_share_keys(keys, kind, spec);
    return;
  }
  if (const double scale = keys.number("expert_weights_scale").value_or(0);
      scale != 0 && scale != 1) {
    keys.refuse("expert_weights_scale", "which this architecture does not have");
  }
}

// YaRN with the factor of all scores: of files without that key llama.cpp computes with another
// multiplier than transformers does.
void read_latent_scale(GgufKeys& keys, DecoderSpec& spec) {
  if (spec.rope.scaling == RopeScaling::none) return;
  if (spec.rope.scaling != RopeScaling::yarn) {
    keys.refuse("rope.scaling.type", "but this architecture is known with yarn alone");
  }
  constexpr std::string_view name = "rope.scaling.yarn_log_multiplier";
  if (!keys.has(name)) keys.refuse_missing(name);
  const double multiplier = keys.positive(name, 0);
  const double factor_of_rope =
      spec.rope.attention_factor / yarn_attention_factor(spec.rope.factor);
  const double factor = factor_of_rope * (1 + multiplier * std::log(spec.rope.factor));
  spec.rope.attention_factor = factor_of_rope;
  spec.attention_scale *= factor * factor;
}

// The rows of the embedding must be the tokens of the vocabulary where the file has one.
std::uint64_t read_vocabulary(const ModelFile& model, GgufKeys& keys) {
  const auto named = keys.count("vocab_size");
  if (const auto tokens = model.array_size("tokenizer.ggml.tokens")) return *tokens;
  if (!named) keys.refuse_missing("vocab_size");
  return *named;
}

}  // namespace

DecoderTensors read_decoder_keys(const ModelFile& model, DecoderSpec& spec) {
  const std::string hint = "supported are " + known_architectures(true);
  const auto architecture = model.text("general.architecture");
  if (!architecture) {
    refuse_decoder(model.path(), "the metadata lack 'general.architecture'", hint);
  }
  spec.architecture = *architecture;
  const DecoderArchitecture* const kind = find_gguf_architecture(spec.architecture);
  if (kind == nullptr) {
    refuse_decoder(
        model.path(),
        "'general.architecture' is " + in_quotes(spec.architecture) + ", which is not supported",
        hint);
  }
  GgufKeys keys(model, spec.architecture);
  const std::uint64_t blocks = keys.required_count("block_count", most_layers);
  constexpr std::string_view further = "nextn_predict_layers";
  const std::uint64_t left_out = kind->has_further_layers ? keys.count(further).value_or(0) : 0;
  if (left_out >= blocks) keys.refuse(further, "which leaves no layer");
  spec.layers.resize(static_cast<std::size_t>(blocks - left_out));
  spec.embedding = keys.required_count("embedding_length");
  spec.vocabulary = read_vocabulary(model, keys);
  spec.context_length = keys.count("context_length").value_or(0);
  const char* const epsilon =
      kind->is_parallel ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  if (!keys.has(epsilon)) keys.refuse_missing(epsilon);
  spec.norm_epsilon = keys.positive(epsilon, 1);
  read_layer_keys(keys, *kind, spec);
  if (kind->delta_period > 0) read_delta_keys(keys, *kind, blocks, spec);
  if (kind->has_latents) read_latent_keys(keys, spec);
  const bool has_experts = kind->may_have_experts && keys.count("expert_count").value_or(0) > 0;
  if (kind->has_experts || has_experts) read_expert_keys(keys, *kind, spec);
  spec.attention_scale = 1 / std::sqrt(static_cast<double>(spec.key_length));
  read_rope_keys(keys, *kind, spec);
  if (kind->has_rope_sections) read_rope_sections(keys, spec);
  if (kind->has_latents) read_latent_scale(keys, spec);
  read_windows(keys, *kind, spec);
  read_scales(keys, *kind, spec);
  check_neutral(model, *kind, keys);
  keys.refuse_others();
  return {.kind = kind, .biases = kind->gguf_biases, .further_layers = left_out};
}

}  // namespace hiptool::model
