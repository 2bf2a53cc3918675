// SPDX-License-Identifier: MIT
#include "model_writer/decoder_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "hiptool/error.hpp"
#include "model/text.hpp"
#include "model_writer/decoder_shapes.hpp"
#include "model_writer/decoder_tensor_list.hpp"
#include "model_writer/decoder_values.hpp"

namespace hiptool::model_writer {
namespace {

constexpr std::uint64_t matrices_per_layer = 7;

[[noreturn]] void refuse_decoder_plan(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::invalid_argument, "make-model", message, hint);
}

// GGUF's name serves for both formats where there is one.
// Also chooses what the architecture always has, where `decoder` leaves it out.
const model::DecoderArchitecture& known_decoder(SampleDecoder& decoder, ModelFormat format) {
  const std::string& name = decoder.architecture;
  const bool is_gguf = format == ModelFormat::gguf;
  const model::DecoderArchitecture* kind = model::find_gguf_architecture(name);
  if (kind == nullptr) kind = model::find_config_architecture(name);
  if (kind == nullptr) {
    refuse_decoder_plan("unknown architecture " + model::in_quotes(name),
                        is_gguf ? "use " + model::known_architectures(true)
                                : "use " + model::known_architectures(false) + ", or " +
                                      model::known_architectures(true));
  }
  if (is_gguf && kind->gguf.empty()) {
    refuse_decoder_plan(
        name + " is written as safetensors only",
        "name OUT x.safetensors; a GGUF of such a model is " + std::string(kind->gguf_alike));
  }
  if (decoder.window > 0 && !is_gguf && kind->config_window == model::ConfigWindow::none) {
    refuse_decoder_plan(name + " has no window in safetensors", "use mistral");
  }
  if (is_gguf && !kind->has_divisors && decoder.rope == RopeScaling::llama3) {
    refuse_decoder_plan(name + " has no llama3 scaling in a GGUF", "use safetensors or yarn");
  }
  const bool needs_yarn = kind->has_temperature || (kind->has_sinks && !is_gguf);
  if (needs_yarn && decoder.rope == RopeScaling::none) decoder.rope = RopeScaling::yarn;
  if (needs_yarn && decoder.rope != RopeScaling::yarn) {
    refuse_decoder_plan(name + " is known with yarn alone", "add --rope yarn");
  }
  const bool is_turned_by_yarn =
      decoder.rope == RopeScaling::none || decoder.rope == RopeScaling::yarn;
  if (kind->has_latents && (!is_turned_by_yarn || decoder.window > 0)) {
    refuse_decoder_plan(name + " has no window, and no scaling but yarn",
                        "leave --window out and use --rope yarn");
  }
  constexpr std::uint64_t usual_window = 5;  // shorter than the usual prompt of a proof
  const bool has_windows = kind->config_window == model::ConfigWindow::in_periods;
  if (has_windows && decoder.window == 0) decoder.window = usual_window;
  return *kind;
}

void check_types(const std::vector<PlannedType>& types, ModelFormat format) {
  for (const PlannedType& type : types) {
    if (can_be_weights(type.name)) continue;
    std::string hint = "use";
    for (const std::string_view name : weight_types(format == ModelFormat::gguf)) {
      hint.append(hint == "use" ? " " : ", ").append(name);
    }
    refuse_decoder_plan("a decoder cannot compute with " + std::string(type.name), hint);
  }
}

void add_shared_experts(DecoderTensorList& list, const DecoderPlan& plan, bool is_gguf,
                        const std::string& prefix) {
  const std::uint64_t width = plan.embedding;
  const std::uint64_t ff = std::uint64_t{plan.shared_experts} * plan.expert_feed_forward;
  const bool has_score = plan.kind->delta_period > 0;
  const std::string one = has_score ? "mlp.shared_expert." : "mlp.shared_experts.";
  if (has_score) {
    list.row(prefix + (is_gguf ? "ffn_gate_inp_shexp" : "mlp.shared_expert_gate") + ".weight",
             width);
  }
  const auto add = [&](const std::string& part, std::uint64_t rows, std::uint64_t columns) {
    list.matrix(prefix + (is_gguf ? "ffn_" + part + "_shexp" : one + part + "_proj") + ".weight",
                rows, columns);
  };
  add("gate", ff, width);
  add("up", ff, width);
  add("down", width, ff);
}

void add_experts(DecoderTensorList& list, const DecoderPlan& plan, bool is_gguf,
                 const std::string& prefix) {
  const std::uint64_t width = plan.embedding;
  const std::uint64_t ff = plan.kind->has_shares ? plan.expert_feed_forward : plan.feed_forward;
  const bool has_bias = plan.kind->config_biases.experts == model::Bias::always;
  const bool is_packed = plan.kind->has_packed_experts && !is_gguf;
  const bool is_numbered = plan.kind->has_numbered_expert_names;
  const std::string router = prefix + (is_gguf       ? "ffn_gate_inp"
                                       : is_packed   ? "mlp.router"
                                       : is_numbered ? "block_sparse_moe.gate"
                                                     : "mlp.gate");
  list.plain_matrix(router + ".weight", plan.experts, width);
  if (has_bias) list.bias(router + ".bias", plan.experts);
  if (plan.has_sigmoid_shares) {
    list.bias(prefix + (is_gguf ? "exp_probs_b.bias" : "mlp.gate.e_score_correction_bias"),
              plan.experts);
  }
  if (plan.kind->has_shares || plan.kind->delta_period > 0) {
    add_shared_experts(list, plan, is_gguf, prefix);
  }
  if (is_gguf) {
    const auto add = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns) {
      list.experts(prefix + name + ".weight", plan.experts, rows, columns);
      if (has_bias) list.expert_bias(prefix + name + ".bias", {rows, plan.experts});
    };
    add("ffn_gate_exps", ff, width);
    add("ffn_up_exps", ff, width);
    add("ffn_down_exps", width, ff);
    return;
  }
  if (is_packed) {
    const auto add = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns) {
      list.packed(prefix + "mlp.experts." + name + "_proj_", plan.experts, rows, columns);
      list.expert_bias(prefix + "mlp.experts." + name + "_proj_bias", {plan.experts, rows});
    };
    add("gate_up", 2 * ff, width);
    add("down", width, ff);
    return;
  }
  if (plan.kind->has_joined_experts && !plan.has_scales) {
    list.experts(prefix + "mlp.experts.gate_up_proj", plan.experts, 2 * ff, width);
    list.experts(prefix + "mlp.experts.down_proj", plan.experts, width, ff);
    return;
  }
  struct Part {
    const char* name;
    std::uint64_t rows, columns;
    const PlannedType* type;
  };
  std::array parts{Part{is_numbered ? "w1.weight" : "gate_proj.weight", ff, width, nullptr},
                   Part{is_numbered ? "w3.weight" : "up_proj.weight", ff, width, nullptr},
                   Part{is_numbered ? "w2.weight" : "down_proj.weight", width, ff, nullptr}};
  for (std::uint32_t expert = 0; expert < plan.experts; ++expert) {
    const std::string own = prefix + (is_numbered ? "block_sparse_moe.experts." : "mlp.experts.") +
                            std::to_string(expert) + ".";
    for (Part& part : parts) {
      // In FP8 are all experts or none.
      if (part.type == nullptr || !plan.has_scales) part.type = &list.next_type();
      list.matrix_of(*part.type, own + part.name, part.rows, part.columns);
    }
  }
}

// Of a name in a Hugging Face folder.
std::string prefix_of(const DecoderPlan& plan) { return plan.is_part() ? "language_model." : ""; }
void add_latents(DecoderTensorList& list, const DecoderPlan& plan, bool is_gguf,
                 const std::string& prefix) {
  const auto name = [&](const char* gguf, const char* other) {
    return prefix + (is_gguf ? gguf : other) + ".weight";
  };
  const std::uint64_t width = plan.embedding;
  const std::uint64_t queries = std::uint64_t{plan.heads} * plan.head_length;
  const std::uint64_t plain = plan.head_length - plan.turned;
  if (plan.query_latent > 0) {
    list.matrix(name("attn_q_a", "self_attn.q_a_proj"), plan.query_latent, width);
    list.norm(name("attn_q_a_norm", "self_attn.q_a_layernorm"), plan.query_latent);
    list.matrix(name("attn_q_b", "self_attn.q_b_proj"), queries, plan.query_latent);
  } else {
    list.matrix(name("attn_q", "self_attn.q_proj"), queries, width);
  }
  list.matrix(name("attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"), plan.latent + plan.turned,
              width);
  list.norm(name("attn_kv_a_norm", "self_attn.kv_a_layernorm"), plan.latent);
  if (plan.has_split_keys) {
    list.experts(prefix + "attn_k_b.weight", plan.heads, plan.latent, plain);
    list.experts(prefix + "attn_v_b.weight", plan.heads, plan.value_length, plan.latent);
    return;
  }
  list.matrix(name("attn_kv_b", "self_attn.kv_b_proj"), plan.heads * (plain + plan.value_length),
              plan.latent);
}

void add_delta(DecoderTensorList& list, const DecoderPlan& plan, bool is_gguf,
               const std::string& prefix) {
  const std::uint64_t heads = plan.state_value_heads;
  const std::uint64_t values = heads * plan.state_value_length;
  const std::uint64_t channels =
      2 * std::uint64_t{plan.state_key_heads} * plan.state_key_length + values;
  const auto name = [&](const char* gguf, const char* other) {
    return is_gguf ? prefix + gguf : prefix + "linear_attn." + other;
  };
  const auto add = [&](const char* gguf, const char* other, std::uint64_t rows) {
    list.matrix(name(gguf, other) + ".weight", rows, plan.embedding);
  };
  const bool is_grouped = plan.kind->has_grouped_delta;
  if (is_grouped && !is_gguf) {
    add("", "in_proj_qkvz", channels + values);
  } else {
    add("attn_qkv", "in_proj_qkv", channels);
    add("attn_gate", "in_proj_z", values);
  }
  if (is_grouped) {
    add("ssm_ba", "in_proj_ba", 2 * heads);
  } else {
    add("ssm_beta", "in_proj_b", heads);
    add("ssm_alpha", "in_proj_a", heads);
  }
  list.convolution(name("ssm_conv1d", "conv1d") + ".weight", channels, plan.taps);
  if (is_gguf) {
    list.negative_vector(prefix + "ssm_a", heads);
  } else {
    list.vector(prefix + "linear_attn.A_log", heads, -1, false);
  }
  list.bias(name("ssm_dt.bias", "dt_bias"), heads);
  list.norm(name("ssm_norm", "norm") + ".weight", plan.state_value_length);
  list.matrix(name("ssm_out", "out_proj") + ".weight", plan.embedding, values);
}

// Keys, values and queries, and the output of attention.
void add_attention(DecoderTensorList& list, const DecoderPlan& plan, bool is_gguf,
                   const std::string& prefix) {
  const auto name = [&](const char* gguf, const char* other) {
    return prefix + (is_gguf ? gguf : other);
  };
  const std::uint64_t queries = std::uint64_t{plan.heads} * plan.head_length;
  const std::uint64_t keys = std::uint64_t{plan.kv_heads} * plan.head_length;
  const std::string q = name("attn_q", "self_attn.q_proj");
  const std::string k = name("attn_k", "self_attn.k_proj");
  const std::string v = name("attn_v", "self_attn.v_proj");
  if (plan.kind->has_latents) {
    add_latents(list, plan, is_gguf, prefix);
  } else if (plan.kind->has_fused_matrices) {
    list.matrix(name("attn_qkv", "self_attn.qkv_proj") + ".weight", queries + 2 * keys,
                plan.embedding);
  } else {
    const bool has_gates = plan.kind->delta_period > 0;  // behind each query
    list.matrix(q + ".weight", (has_gates ? 2u : 1u) * queries, plan.embedding);
    list.matrix(k + ".weight", keys, plan.embedding);
    list.matrix(v + ".weight", keys, plan.embedding);
  }
  if (plan.has_qkv_bias()) {
    list.bias(q + ".bias", queries);
    list.bias(k + ".bias", keys);
    list.bias(v + ".bias", keys);
  }
  if (plan.has_head_norms()) {
    const bool is_row = plan.kind->has_row_norms;
    list.norm(name("attn_q_norm", "self_attn.q_norm") + ".weight",
              is_row ? queries : plan.head_length);
    list.norm(name("attn_k_norm", "self_attn.k_norm") + ".weight",
              is_row ? keys : plan.head_length);
  }
  const std::string output = name("attn_output", "self_attn.o_proj");
  const std::uint64_t of_value = plan.kind->has_latents ? plan.value_length : plan.head_length;
  list.matrix(output + ".weight", plan.embedding, plan.heads * of_value);
  if (plan.kind->config_biases.attention_output == model::Bias::always) {
    list.bias(output + ".bias", plan.embedding);
  }
}

void add_layer(DecoderTensorList& list, const DecoderPlan& plan, bool is_gguf,
               std::uint32_t number) {
  const std::string prefix =
      (is_gguf ? "blk." : prefix_of(plan) + "model.layers.") + std::to_string(number) + ".";
  const auto name = [&](const char* gguf, const char* other) {
    return prefix + (is_gguf ? gguf : other);
  };
  if (plan.kind->has_pre_norms) {
    list.norm(name("attn_norm", "input_layernorm") + ".weight", plan.embedding);
  }
  const bool is_fused = plan.kind->has_fused_matrices;
  if (plan.has_state(number)) {
    add_delta(list, plan, is_gguf, prefix);
  } else {
    add_attention(list, plan, is_gguf, prefix);
  }
  if (plan.kind->has_post_norms) {
    list.norm(name("post_attention_norm", "post_attention_layernorm") + ".weight", plan.embedding);
    list.norm(name("post_ffw_norm", "post_feedforward_layernorm") + ".weight", plan.embedding);
  }
  if (plan.kind->has_sinks) {
    list.vector(name("attn_sinks.weight", "self_attn.sinks"), plan.heads, 0, false);
  }
  if (plan.kind->has_pre_norms && !plan.kind->is_parallel) {
    list.norm(prefix +
                  std::string(is_gguf ? plan.kind->gguf_feed_forward_norm
                                      : plan.kind->config_feed_forward_norm) +
                  ".weight",
              plan.embedding);
  }
  if (plan.kind->has_experts && !(plan.kind->has_shares && number < plan.dense_layers)) {
    add_experts(list, plan, is_gguf, prefix);
    return;
  }
  if (is_fused) {
    list.matrix(name("ffn_up", "mlp.gate_up_proj") + ".weight",
                2 * std::uint64_t{plan.feed_forward}, plan.embedding);
  } else {
    list.matrix(name("ffn_gate", "mlp.gate_proj") + ".weight", plan.feed_forward, plan.embedding);
    list.matrix(name("ffn_up", "mlp.up_proj") + ".weight", plan.feed_forward, plan.embedding);
  }
  list.matrix(name("ffn_down", "mlp.down_proj") + ".weight", plan.embedding, plan.feed_forward);
}

void add_divisors(DecoderTensorList& list, const DecoderPlan& plan) {
  const std::uint64_t pairs = plan.rotary() / 2;
  if (plan.decoder.rope == RopeScaling::llama3) list.norm("rope_freqs.weight", pairs);
  if (plan.decoder.rope == RopeScaling::longrope) {
    list.norm("rope_factors_short.weight", pairs);
    list.norm("rope_factors_long.weight", pairs);
  }
}

// The columns of every matrix must be whole blocks.
void shape_for_blocks(DecoderPlan& plan, std::uint64_t block) {
  if (block > 1) {
    plan.head_length = 32;
    plan.feed_forward = 160;
  }
  if (block > 32) {
    plan.embedding = 256;
    plan.head_length = 128;
    plan.feed_forward = 768;
  }
}

// GLM-4.5; a GGUF has no groups, which its converter does not write.
void plan_shares(DecoderPlan& plan, bool is_gguf, std::uint64_t block) {
  plan.has_sigmoid_shares = true;
  if (plan.decoder.size_bytes > 0) return;
  plan.expert_feed_forward = plan.has_scales ? 139 : block > 32 ? 256 : block > 1 ? 64 : 51;
  plan.experts = 12;
  plan.groups = is_gguf ? 1 : 4;
  plan.groups_used = is_gguf ? 1 : 2;
}

// A layer that predicts further tokens, with two of its tensors.
void add_further_layer(DecoderTensorList& list, const DecoderPlan& plan, bool is_gguf) {
  const std::string prefix =
      (is_gguf ? "blk." : "model.layers.") + std::to_string(plan.layers) + ".";
  const std::string part = prefix + (is_gguf ? "nextn." : "");
  list.norm(part + "enorm.weight", plan.embedding);
  list.matrix(part + "eh_proj.weight", plan.embedding, 2 * std::uint64_t{plan.embedding});
}

// DeepSeek V3; in a GGUF whose output is its embedding, V2-Lite. Its own sizes are odd as well.
void plan_latents(DecoderPlan& plan, bool is_gguf, std::uint64_t block) {
  const bool is_small = plan.decoder.size_bytes == 0;
  plan.has_sigmoid_shares = plan.kind->has_sigmoid_shares && !(is_gguf && plan.decoder.is_tied);
  if (is_small) {
    plan.head_length = block > 32 ? 80 : block > 1 ? 40 : 28;
    plan.turned = block > 32 ? 16 : 8;
    plan.value_length = block > 32 ? 128 : block > 1 ? 32 : 20;
    plan.latent = block > 32 ? 256 : block > 1 ? 32 : 36;
    plan.query_latent = block > 32 ? 256 : block > 1 ? 64 : 44;
    plan.expert_feed_forward = block > 32 ? 256 : block > 1 ? 64 : 51;
    plan.experts = 12;
    plan.groups = 4;
    plan.groups_used = 2;
    if (plan.has_scales) plan.expert_feed_forward = 139;
  }
  if (plan.decoder.is_tied) plan.query_latent = 0;
  if (plan.decoder.is_tied && !plan.has_sigmoid_shares) plan.groups = plan.groups_used = 1;
  const std::uint64_t plain = plan.head_length - plan.turned;
  plan.has_split_keys = is_gguf && !plan.decoder.is_tied && plain % block == 0;
}

// Of a small one the sizes above, with one layer behind a whole period.
void plan_states(DecoderPlan& plan, bool is_gguf, std::uint64_t block) {
  plan.shared_experts = 1;
  if (plan.decoder.size_bytes == 0) {
    plan.layers = DecoderPlan::own_period + 1;
    if (!is_gguf || block == 1) return;
    plan.state_value_length = block > 32 ? 128 : 16;
    plan.expert_feed_forward = block > 32 ? 256 : 64;
    return;
  }
  if (is_gguf) plan.expert_feed_forward = plan.feed_forward;  // of whole blocks
  plan.state_key_heads = plan.kv_heads;
  plan.state_value_heads = plan.heads;
  plan.state_key_length = plan.state_value_length = plan.head_length;
}

std::vector<PlannedTensor> decoder_tensors(const DecoderPlan& plan,
                                           const ModelWriterOptions& options,
                                           const std::vector<PlannedType>& types) {
  const bool is_gguf = options.format == ModelFormat::gguf;
  std::vector<PlannedTensor> tensors;
  DecoderTensorList list(options, types, tensors);
  const std::string part = prefix_of(plan);
  list.embedding(is_gguf ? "token_embd.weight" : part + "model.embed_tokens.weight",
                 plan.vocabulary, plan.embedding);
  for (std::uint32_t layer = 0; layer < plan.layers; ++layer) {
    add_layer(list, plan, is_gguf, layer);
  }
  list.norm(is_gguf ? "output_norm.weight" : part + "model.norm.weight", plan.embedding);
  if (!plan.decoder.is_tied) {
    list.plain_matrix(is_gguf ? "output.weight" : part + "lm_head.weight", plan.vocabulary,
                      plan.embedding);
  }
  if (is_gguf) add_divisors(list, plan);
  if (plan.has_further_layer(is_gguf)) add_further_layer(list, plan, is_gguf);
  return tensors;
}

}  // namespace

std::uint64_t least_decoder_tensors(const SampleDecoder& decoder) {
  const model::DecoderArchitecture* const kind =
      model::find_config_architecture(decoder.architecture);
  const std::uint64_t of_layer = kind != nullptr && kind->has_fused_matrices ? 6 : 9;
  return 3 * of_layer + 2;
}

DecoderPlan plan_decoder(const ModelWriterOptions& options, const std::vector<PlannedType>& types) {
  DecoderPlan plan;
  plan.decoder = *options.decoder;
  plan.kind = &known_decoder(plan.decoder, options.format);
  const bool is_gguf = options.format == ModelFormat::gguf;
  check_types(types, options.format);
  if (plan.kind->plain_period > 0) plan.layers = 5;  // the fourth does not turn
  plan.has_scales = !is_gguf && std::ranges::any_of(types, [](const PlannedType& type) {
    return type.name == scaled_type;
  });
  if (plan.has_scales && plan.kind->has_packed_experts) {
    refuse_decoder_plan(plan.decoder.architecture + " has no matrices in F8_E4M3", "use BF16");
  }
  std::uint64_t block = 1;
  for (const PlannedType& type : types) block = std::max(block, type.elements);
  if (plan.decoder.size_bytes > 0) {
    choose_shape(plan, plan.decoder.size_bytes, block, [&](const DecoderPlan& one) {
      std::uint64_t bytes = 0;
      DecoderPlan with_more = one;
      if (one.kind->has_latents) plan_latents(with_more, is_gguf, block);
      if (one.kind->delta_period > 0) plan_states(with_more, is_gguf, block);
      for (const PlannedTensor& tensor : decoder_tensors(with_more, options, types)) {
        bytes += tensor.size_bytes;
      }
      return bytes;
    });
  } else {
    if (plan.kind->has_packed_experts) block = std::max<std::uint64_t>(block, 32);
    shape_for_blocks(plan, block);
    if (plan.has_scales) {
      // So that blocks are cut, below and at the right.
      plan.embedding = 200;
      plan.feed_forward = 263;
    }
  }
  if (plan.kind->has_latents) {
    plan_latents(plan, is_gguf, block);
  } else if (plan.kind->has_shares) {
    plan_shares(plan, is_gguf, block);
  }
  if (plan.kind->delta_period > 0) plan_states(plan, is_gguf, block);
  const auto wanted = (types.size() + matrices_per_layer - 2) / matrices_per_layer;
  plan.layers = std::max(plan.layers, static_cast<std::uint32_t>(wanted));
  plan.tensors = decoder_tensors(plan, options, types);
  return plan;
}

}  // namespace hiptool::model_writer
