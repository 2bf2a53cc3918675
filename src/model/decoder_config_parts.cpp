// SPDX-License-Identifier: MIT
#include "model/decoder_config_parts.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hiptool::model {
namespace {

/// A positive number rounded to `bits` significant bits, ties to even.
double rounded_to_bits(double number, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(number, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits);
}

}  // namespace

double embedding_scale_of(const ModelFile& model, std::uint64_t embedding) {
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(embedding)));
  const TensorInfo* tensor = nullptr;
  for (const char* prefix : {"model.", "language_model.model.", "model.language_model."}) {
    if (tensor == nullptr) tensor = model.find(std::string(prefix) + "embed_tokens.weight");
  }
  const std::string_view type = tensor != nullptr ? tensor->type.name() : "F32";
  if (type == "BF16") return rounded_to_bits(scale, 8);
  return type == "F16" ? rounded_to_bits(scale, 11) : scale;
}

// configuration_mistral3.py, _gemma3.py, _qwen3_5.py and _qwen3_5_moe.py: a decoder behind an
// encoder of images.
bool is_with_images(const ConfigJson& json) {
  const auto type = json.find("model_type");
  const auto text = json.find("text_config");
  if (type == json.end() || text == json.end() || !text->is_object()) return false;
  return *type == "mistral3" || *type == "gemma3" || *type == "qwen3_5" || *type == "qwen3_5_moe";
}

ExpertsSpec read_expert_counts(ConfigFields& config, const char* older_name) {
  constexpr const char* name = "num_local_experts";
  const bool has_older = older_name != nullptr && config.find(older_name) != nullptr;
  const bool has_both = has_older && config.find(name) != nullptr;
  ExpertsSpec experts;
  experts.count = config.required_count(has_older ? older_name : name, most_experts);
  if (has_both && config.count(name, most_experts) != experts.count) {
    config.refuse(name, std::string("but '") + older_name + "' is another number");
  }
  experts.used = config.required_count("num_experts_per_tok", experts.count);
  return experts;
}

// configuration_gpt_oss.py; some names come from the model's makers.
void read_packed_experts(ConfigFields& config, DecoderSpec& spec) {
  const ExpertsSpec experts = read_expert_counts(config);
  for (DecoderLayer& layer : spec.layers) layer.experts = experts;
  spec.gate_limit = config.positive("swiglu_limit", spec.gate_limit);
  spec.gate_slope = config.positive("swiglu_alpha", spec.gate_slope);
  config.find("experts_per_token");
  config.find("initial_context_length");
  const ConfigJson* const packing = config.find("quantization_config");
  if (packing != nullptr &&
      (!packing->is_object() || packing->value("quant_method", std::string()) != "mxfp4")) {
    config.refuse("quantization_config", "which is not supported", "use experts in MXFP4");
  }
}

// configuration_mixtral.py.
void read_mixtral_experts(ConfigFields& config, DecoderSpec& spec) {
  const ExpertsSpec experts = read_expert_counts(config);
  for (DecoderLayer& layer : spec.layers) layer.experts = experts;
  config.number("router_jitter_noise");  // of training
}

// Of phi3: dropout is of training; the others are in files of Phi-4-mini, and no program reads
// them.
void read_neutral_fields(ConfigFields& config) {
  for (const char* name : {"resid_pdrop", "embd_pdrop"}) config.number(name);
  for (const char* name : {"interpolate_factor", "full_attn_mod"}) {
    if (config.number(name).value_or(1) != 1) config.refuse(name, "which is not supported");
  }
}

// configuration_cohere2.py. The others are in the files of its makers, and transformers reads none.
void read_cohere_fields(ConfigFields& config, DecoderSpec& spec) {
  spec.logit_scale = config.positive("logit_scale", 0.0625);
  if (config.number("rotary_pct").value_or(1) != 1) {
    config.refuse("rotary_pct", "which is not supported");
  }
  if (config.text("position_embedding_type").value_or("rope_gptj") != "rope_gptj") {
    config.refuse("position_embedding_type", "which is not supported");
  }
  for (const char* name : {"use_gated_activation", "use_parallel_block", "use_embedding_sharing",
                           "use_parallel_embedding"}) {
    if (!config.flag(name, true)) config.refuse(name, "but this architecture has it");
  }
  for (const char* name : {"layer_switch", "order_of_interleaved_layers"}) config.find(name);
}

// configuration_granite.py.
void read_multipliers(ConfigFields& config, DecoderSpec& spec) {
  spec.embedding_scale = config.positive("embedding_multiplier", 1);
  spec.attention_scale = config.positive("attention_multiplier", 1);
  spec.residual_scale = config.positive("residual_multiplier", 1);
  spec.logit_scale = 1 / config.positive("logits_scaling", 1);
}

// configuration_smollm3.py: 1 where a layer turns.
void read_plain_layers(ConfigFields& config, const DecoderArchitecture& kind, bool has_types,
                       DecoderSpec& spec) {
  const bool has_window = config.has("sliding_window") ? config.find("sliding_window") != nullptr
                                                       : kind.config_window_tokens > 0;
  name_plain_layers(kind, has_window, spec);
  if (kind.plain_period == 0) return;
  const std::uint64_t period = config.count("no_rope_layer_interval").value_or(kind.plain_period);
  if (period == 0) config.refuse("no_rope_layer_interval", "which must be at least 1");
  const ConfigJson* const turned = config.find("no_rope_layers");
  if (turned != nullptr && (!turned->is_array() || turned->size() < spec.layers.size())) {
    config.refuse("no_rope_layers", "which has no number for each layer");
  }
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    DecoderLayer& layer = spec.layers[number];
    layer.has_rope = is_in_period(number, period);
    if (turned != nullptr) {
      const ConfigJson& one = (*turned)[number];
      if (one != 0 && one != 1) config.refuse("no_rope_layers", "which has more than 0 and 1");
      layer.has_rope = one == 1;
    }
    if (!has_types && layer.has_rope) layer.window = 0;
  }
}

}  // namespace hiptool::model
