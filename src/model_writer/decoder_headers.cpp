// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model_writer/decoder_plan.hpp"
#include "model_writer/writer_headers.hpp"

namespace hiptool::model_writer {
namespace {

constexpr float norm_epsilon = 1e-3f;  // so that one that is not read is seen
constexpr float beta_fast = 4;  // so that the ramp of yarn begins and ends within a short head
constexpr float beta_slow = 0.25f;
constexpr float scale_of_rope = 0.75f;  // of latents' yarn ("mscale" in a config.json)
constexpr float scale_of_all = 0.5f;    // "mscale_all_dim"
constexpr float share_scale = 1.5f;     // of experts' weights

// None of them does nothing, and no two are the same.
constexpr double embedding_multiplier = 3.5;
constexpr double attention_multiplier = 0.3;
constexpr double residual_multiplier = 0.22;
constexpr double logits_divisor = 1.75;
constexpr double attention_cap = 2.5;
constexpr double logit_cap = 3;
constexpr double temperature = 0.375;

bool has_own_period(const DecoderPlan& plan) {
  return plan.decoder.window > 0 && plan.kind->window_period > DecoderPlan::own_period;
}

float rope_base_of(const DecoderPlan& plan) {
  return plan.decoder.architecture == "llama" ? 10000 : 1'000'000;
}

// transformers' _compute_longrope_parameters.
double longrope_factor(const DecoderPlan& plan) {
  return std::sqrt(1 + std::log(plan.factor) / std::log(plan.original_context));
}

void write_rope_keys(GgufHeader& header, const DecoderPlan& plan, const std::string& prefix) {
  header.pair(prefix + "rope.dimension_count", plan.rotary());
  header.real(prefix + "rope.freq_base", rope_base_of(plan));
  const RopeScaling scaling = plan.decoder.rope;
  if (scaling == RopeScaling::none || scaling == RopeScaling::llama3) return;
  // As converters do: of phi3 the factors are enough.
  if (!plan.kind->has_fused_matrices) header.pair(prefix + "rope.scaling.type", to_string(scaling));
  if (scaling != RopeScaling::longrope) {
    header.real(prefix + "rope.scaling.factor", static_cast<float>(plan.factor));
  } else {
    header.real(prefix + "rope.scaling.attn_factor", static_cast<float>(longrope_factor(plan)));
  }
  if (scaling == RopeScaling::linear) return;
  header.pair(prefix + "rope.scaling.original_context_length", plan.original_context);
  if (scaling != RopeScaling::yarn) return;
  header.real(prefix + "rope.scaling.yarn_beta_fast", beta_fast);
  header.real(prefix + "rope.scaling.yarn_beta_slow", beta_slow);
  if (plan.kind->has_temperature) header.real(prefix + "rope.scaling.yarn_log_multiplier", 1);
  // As llama.cpp's converter has it: a tenth.
  if (plan.kind->has_latents) {
    header.real(prefix + "rope.scaling.yarn_log_multiplier", 0.1f * scale_of_all);
  }
}

void write_scale_keys(GgufHeader& header, const DecoderPlan& plan, const std::string& prefix) {
  const auto add = [&](const char* name, double number) {
    header.real(prefix + name, static_cast<float>(number));
  };
  if (plan.kind->has_multipliers) {
    add("embedding_scale", embedding_multiplier);
    add("attention.scale", attention_multiplier);
    add("residual_scale", residual_multiplier);
    add("logit_scale", logits_divisor);
  }
  if (plan.kind->is_parallel) add("logit_scale", logits_divisor);
  if (plan.kind->has_softcaps) {
    add("attn_logit_softcapping", attention_cap);
    add("final_logit_softcapping", logit_cap);
  }
  if (plan.kind->has_temperature) add("attention.temperature_scale", temperature);
}

void write_flag(GgufHeader& header, const std::string& name, bool is_set) {
  header.key(name, model::GgufValueType::boolean);
  header.number(static_cast<std::uint8_t>(is_set ? 1 : 0));
}

void write_latent_keys(GgufHeader& header, const DecoderPlan& plan, const std::string& prefix) {
  const std::string attention = prefix + "attention.";
  header.pair(attention + "kv_lora_rank", plan.latent);
  if (plan.query_latent > 0) header.pair(attention + "q_lora_rank", plan.query_latent);
  const std::string kind = plan.has_split_keys ? "_mla" : "";
  if (plan.has_split_keys) {
    header.pair(attention + "key_length", plan.latent + plan.turned);
    header.pair(attention + "value_length", plan.latent);
  }
  header.pair(attention + "key_length" + kind, plan.head_length);
  header.pair(attention + "value_length" + kind, plan.value_length);
}

void write_share_keys(GgufHeader& header, const DecoderPlan& plan, const std::string& prefix) {
  header.pair(prefix + "leading_dense_block_count", plan.dense_layers);
  header.pair(prefix + "expert_shared_count", plan.shared_experts);
  header.pair(prefix + "expert_gating_func", plan.has_sigmoid_shares ? 2u : 1u);
  header.real(prefix + "expert_weights_scale", share_scale);
  write_flag(header, prefix + "expert_weights_norm", plan.has_sigmoid_shares);
  if (plan.groups == 1) return;
  header.pair(prefix + "expert_group_count", plan.groups);
  header.pair(prefix + "expert_group_used_count", plan.groups_used);
}

void write_state_keys(GgufHeader& header, const DecoderPlan& plan, const std::string& prefix) {
  header.pair(prefix + "ssm.conv_kernel", plan.taps);
  header.pair(prefix + "ssm.state_size", plan.state_key_length);
  header.pair(prefix + "ssm.group_count", plan.state_key_heads);
  header.pair(prefix + "ssm.time_step_rank", plan.state_value_heads);
  header.pair(prefix + "ssm.inner_size", plan.state_value_heads * plan.state_value_length);
  header.pair(prefix + "full_attention_interval", plan.state_period());
  if (plan.kind->has_experts) {
    header.pair(prefix + "expert_shared_feed_forward_length",
                plan.shared_experts * plan.expert_feed_forward);
  }
  if (!plan.kind->has_rope_sections) return;
  const std::uint32_t pairs = plan.rotary() / 2;
  header.array(prefix + "rope.dimension_sections", model::GgufValueType::i32, 4);
  for (const std::uint32_t section : {(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3, 0u}) {
    header.number(section);
  }
}

std::string number_text(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text + "0" : text;
}

// 1 to 1.5 and 1 to 4: one for each pair.
std::string divisors_text(std::uint32_t pairs, double step) {
  std::string text = "[";
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    text += (pair == 0 ? "" : ", ") + number_text(1 + step * (pair % 5));
  }
  return text + "]";
}

std::string rope_config(const DecoderPlan& plan) {
  if (has_two_ropes(*plan.kind)) {
    DecoderPlan one = plan;
    model::DecoderArchitecture alike = *plan.kind;
    alike.local_rope_base = 0;
    alike.has_unscaled_local_rope = false;
    one.kind = &alike;
    const double local_base =
        plan.kind->local_rope_base > 0 ? plan.kind->local_rope_base : rope_base_of(plan);
    return R"({"full_attention": )" + rope_config(one) +
           R"(, "sliding_attention": {"rope_type": "default", "rope_theta": )" +
           number_text(local_base) + "}}";
  }
  std::string text = R"({"rope_theta": )" + number_text(rope_base_of(plan));
  const auto add = [&](std::string_view name, const std::string& value) {
    text.append(", \"").append(name).append("\": ").append(value);
  };
  const RopeScaling scaling = plan.decoder.rope;
  if (plan.kind->has_partial_rope) add("partial_rotary_factor", number_text(plan.turned_part()));
  if (scaling == RopeScaling::none) {
    add("rope_type", "\"default\"");
    return text + "}";
  }
  add("rope_type", "\"" + std::string(to_string(scaling)) + "\"");
  add("factor", number_text(plan.factor));
  if (scaling == RopeScaling::linear) return text + "}";
  add("original_max_position_embeddings", std::to_string(plan.original_context));
  if (scaling == RopeScaling::yarn) {
    add("beta_fast", number_text(double{beta_fast}));
    add("beta_slow", number_text(double{beta_slow}));
    if (plan.kind->has_packed_experts) add("truncate", "false");
    if (plan.kind->has_temperature) {
      for (const char* name : {"mscale", "mscale_all_dim"}) add(name, "1.0");
      add("llama_4_scaling_beta", number_text(temperature));
    }
    if (plan.kind->has_latents) {
      add("mscale", number_text(double{scale_of_rope}));
      add("mscale_all_dim", number_text(double{scale_of_all}));
    }
  } else if (scaling == RopeScaling::llama3) {
    add("low_freq_factor", "1.0");
    add("high_freq_factor", "4.0");
  } else {
    add("short_factor", divisors_text(plan.rotary() / 2, 0.125));
    add("long_factor", divisors_text(plan.rotary() / 2, 0.75));
  }
  return text + "}";
}

using AddMember = std::function<void(std::string_view name, const std::string& value)>;

void add_latents(const DecoderPlan& plan, const AddMember& add) {
  add("num_key_value_heads", std::to_string(plan.heads));
  add("qk_nope_head_dim", std::to_string(plan.head_length - plan.turned));
  add("qk_rope_head_dim", std::to_string(plan.turned));
  add("v_head_dim", std::to_string(plan.value_length));
  add("kv_lora_rank", std::to_string(plan.latent));
  add("q_lora_rank", plan.query_latent > 0 ? std::to_string(plan.query_latent) : "null");
  const bool is_sigmoid = plan.has_sigmoid_shares;
  add("scoring_func", is_sigmoid ? "\"sigmoid\"" : "\"softmax\"");
  add("topk_method", is_sigmoid        ? "\"noaux_tc\""
                     : plan.groups > 1 ? "\"group_limited_greedy\""
                                       : "\"greedy\"");
}

void add_shares(const DecoderPlan& plan, const AddMember& add) {
  const bool is_sigmoid = plan.has_sigmoid_shares;
  add("first_k_dense_replace", std::to_string(plan.dense_layers));
  add("n_routed_experts", std::to_string(plan.experts));
  add("n_shared_experts", std::to_string(plan.shared_experts));
  add("num_experts_per_tok", std::to_string(plan.experts_used));
  add("moe_intermediate_size", std::to_string(plan.expert_feed_forward));
  add("n_group", std::to_string(plan.groups));
  add("topk_group", std::to_string(plan.groups_used));
  add("norm_topk_prob", is_sigmoid ? "true" : "false");
  add("routed_scaling_factor", number_text(double{share_scale}));
}

}  // namespace

void write_decoder_keys(GgufHeader& header, const DecoderPlan& plan) {
  const SampleDecoder& decoder = plan.decoder;
  const std::string architecture(plan.kind->gguf);
  const std::string prefix = architecture + ".";
  header.pair("general.architecture", architecture);
  header.pair("general.name", name_of_made_models);
  header.pair("general.quantization_version", 2);
  header.pair(prefix + "block_count", plan.layers + (plan.has_further_layer(true) ? 1u : 0u));
  header.pair(prefix + "context_length", plan.context);
  header.pair(prefix + "embedding_length", plan.embedding);
  // Converters have none for Qwen3.5 with experts.
  if (!plan.kind->has_experts || !plan.kind->has_rope_sections) {
    header.pair(prefix + "feed_forward_length", plan.feed_forward);
  }
  if (plan.kind->has_experts) {
    header.pair(prefix + "expert_count", plan.experts);
    header.pair(prefix + "expert_used_count", plan.experts_used);
    // That of llama is feed_forward_length.
    if (!plan.kind->has_numbered_expert_names) {
      header.pair(prefix + "expert_feed_forward_length",
                  plan.kind->has_shares ? plan.expert_feed_forward : plan.feed_forward);
    }
  }
  header.pair(prefix + "attention.head_count", plan.heads);
  if (plan.kind->has_latents) {
    header.pair(prefix + "attention.head_count_kv", plan.has_split_keys ? 1 : plan.heads);
    write_latent_keys(header, plan, prefix);
  } else {
    header.pair(prefix + "attention.head_count_kv", plan.kv_heads);
    header.pair(prefix + "attention.key_length", plan.head_length);
    header.pair(prefix + "attention.value_length", plan.head_length);
  }
  if (plan.kind->has_shares) write_share_keys(header, plan, prefix);
  if (plan.kind->delta_period > 0) write_state_keys(header, plan, prefix);
  if (plan.has_further_layer(true)) header.pair(prefix + "nextn_predict_layers", 1u);
  header.real(prefix + (plan.kind->is_parallel ? "attention.layer_norm_epsilon"
                                               : "attention.layer_norm_rms_epsilon"),
              norm_epsilon);
  if (decoder.window > 0) {
    header.pair(prefix + "attention.sliding_window", static_cast<std::uint32_t>(decoder.window));
  }
  if (has_own_period(plan)) {
    header.pair(prefix + "attention.sliding_window_pattern", DecoderPlan::own_period);
  }
  write_scale_keys(header, plan, prefix);
  write_rope_keys(header, plan, prefix);
  header.pair(prefix + "vocab_size", plan.vocabulary);
  header.pair("tokenizer.ggml.model", "none");
  write_tokens(header, plan.vocabulary);
}

namespace {

std::string layer_types(const DecoderPlan& plan) {
  std::string text = "[";
  for (std::uint32_t layer = 0; layer < plan.layers; ++layer) {
    text += layer == 0 ? "" : ", ";
    if (plan.has_state(layer)) {
      text += "\"linear_attention\"";
      continue;
    }
    text += plan.has_window(layer) ? "\"sliding_attention\"" : "\"full_attention\"";
  }
  return text + "]";
}

void add_states(const DecoderPlan& plan, const AddMember& add) {
  add("linear_num_key_heads", std::to_string(plan.state_key_heads));
  add("linear_num_value_heads", std::to_string(plan.state_value_heads));
  add("linear_key_head_dim", std::to_string(plan.state_key_length));
  add("linear_value_head_dim", std::to_string(plan.state_value_length));
  add("linear_conv_kernel_dim", std::to_string(plan.taps));
  if (plan.decoder.is_tied) {  // so that there are both
    add("layer_types", layer_types(plan));
  } else {
    add("full_attention_interval", std::to_string(plan.state_period()));
  }
  if (!plan.kind->has_experts) return;
  add("shared_expert_intermediate_size",
      std::to_string(plan.shared_experts * plan.expert_feed_forward));
  // Qwen3.5 normalises without a member that says so.
  if (plan.kind->has_grouped_delta) {
    add("norm_topk_prob", plan.decoder.is_tied ? "false" : "true");
  }
}

}  // namespace

std::string decoder_config(const DecoderPlan& plan) {
  const SampleDecoder& decoder = plan.decoder;
  std::string text = "{\n  \"model_type\": \"" + std::string(plan.kind->config) + "\"";
  const auto add = [&](std::string_view name, const std::string& value) {
    text.append(",\n  \"").append(name).append("\": ").append(value);
  };
  const bool is_gelu = plan.kind->gate == GateKind::gelu;
  add(is_gelu ? "hidden_activation" : "hidden_act", is_gelu ? "\"gelu_pytorch_tanh\"" : "\"silu\"");
  add("hidden_size", std::to_string(plan.embedding));
  add("intermediate_size", std::to_string(plan.feed_forward));
  add("num_hidden_layers", std::to_string(plan.layers));
  add("num_attention_heads", std::to_string(plan.heads));
  if (plan.kind->has_latents) {
    add_latents(plan, add);
  } else {
    add("num_key_value_heads", std::to_string(plan.kv_heads));
    add("head_dim", std::to_string(plan.head_length));
  }
  if (plan.kind->has_shares) add_shares(plan, add);
  if (plan.has_further_layer(false)) add("num_nextn_predict_layers", "1");
  if (!plan.kind->has_output_bias_key) add("attention_bias", "true");
  if (plan.kind->has_optional_head_norms) {
    add("use_qk_norm", plan.has_head_norms() ? "true" : "false");
  }
  add("vocab_size", std::to_string(plan.vocabulary));
  add("max_position_embeddings", std::to_string(plan.context));
  add(plan.kind->is_parallel ? "layer_norm_eps" : "rms_norm_eps", "0.001");
  if (plan.kind->is_parallel) add("logit_scale", number_text(logits_divisor));
  add("tie_word_embeddings", decoder.is_tied ? "true" : "false");
  add("rope_parameters", rope_config(plan));
  if (plan.kind->has_packed_experts) {
    add("num_local_experts", std::to_string(plan.experts));
    add("num_experts_per_tok", std::to_string(plan.experts_used));
    add("swiglu_limit", "1.5");  // so that it takes effect
    add("quantization_config", R"({"quant_method": "mxfp4"})");
  } else if (plan.kind->has_numbered_expert_names) {
    add("num_local_experts", std::to_string(plan.experts));
    add("num_experts_per_tok", std::to_string(plan.experts_used));
  } else if (plan.kind->has_experts && !plan.kind->has_shares) {
    add("num_experts", std::to_string(plan.experts));
    add("num_experts_per_tok", std::to_string(plan.experts_used));
    add("moe_intermediate_size", std::to_string(plan.feed_forward));
    if (plan.kind->delta_period == 0) {
      add("norm_topk_prob", decoder.is_tied ? "true" : "false");  // so that there are both
    }
  }
  if (plan.has_scales) {
    const std::string block = std::to_string(DecoderPlan::scale_block);
    add("quantization_config",
        R"({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", )"
        R"("weight_block_size": [)" +
            block + ", " + block + "]}");
  }
  if (plan.kind->delta_period > 0) add_states(plan, add);
  const std::string window = decoder.window > 0 ? std::to_string(decoder.window) : "null";
  if (plan.kind->has_embedding_scale) add("query_pre_attn_scalar", "40");  // not the head's size
  if (plan.kind->has_multipliers) {
    add("embedding_multiplier", number_text(embedding_multiplier));
    add("attention_multiplier", number_text(attention_multiplier));
    add("residual_multiplier", number_text(residual_multiplier));
    add("logits_scaling", number_text(logits_divisor));
  }
  if (plan.kind->has_softcaps) {
    add("attn_logit_softcapping", number_text(attention_cap));
    add("final_logit_softcapping", number_text(logit_cap));
  }
  const model::ConfigWindow kind = plan.kind->config_window;
  // Only gemma3 has a number of its own for the period in every version of transformers.
  if (kind == model::ConfigWindow::in_periods && plan.kind->local_rope_base > 0) {
    add("sliding_window_pattern", std::to_string(DecoderPlan::own_period));
  } else if (plan.kind->window_period > 0 && !plan.kind->has_sinks && decoder.window > 0) {
    add("layer_types", layer_types(plan));
  }
  if (kind != model::ConfigWindow::none) add("sliding_window", window);
  if (kind == model::ConfigWindow::from_a_layer || kind == model::ConfigWindow::if_used) {
    add("use_sliding_window", decoder.window > 0 ? "true" : "false");
    add("max_window_layers", "1");
  }
  text += "\n}\n";
  if (!plan.is_part()) return text;
  return "{\n\"model_type\": \"mistral3\",\n\"text_config\": " + text + "}\n";
}

}  // namespace hiptool::model_writer
