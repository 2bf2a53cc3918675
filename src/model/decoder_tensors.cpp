// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/decoder_reading.hpp"
#include "model/tensor_finder.hpp"

namespace hiptool::model {
namespace {

// llama.cpp's gguf-py/gguf/constants.py (TENSOR_NAMES).
constexpr TensorNames gguf_names{
    "token_embd",    "output_norm",  "output", "blk.",          "attn_norm",
    "attn_q",        "attn_k",       "attn_v", "attn_q_norm",   "attn_k_norm",
    "attn_output",   "ffn_gate",     "ffn_up", "ffn_down",      "post_attention_norm",
    "post_ffw_norm", "ffn_gate_inp", "",       "ffn_gate_exps", "ffn_up_exps",
    "ffn_down_exps"};
// Hugging Face transformers, modeling_llama.py; the others are the same. Experts:
// modeling_qwen3_moe.py, as files have them.
constexpr TensorNames config_names{"model.embed_tokens",
                                   "model.norm",
                                   "lm_head",
                                   "model.layers.",
                                   "input_layernorm",
                                   "self_attn.q_proj",
                                   "self_attn.k_proj",
                                   "self_attn.v_proj",
                                   "self_attn.q_norm",
                                   "self_attn.k_norm",
                                   "self_attn.o_proj",
                                   "mlp.gate_proj",
                                   "mlp.up_proj",
                                   "mlp.down_proj",
                                   "post_attention_layernorm",
                                   "post_feedforward_layernorm",
                                   "mlp.gate",
                                   "mlp.experts.",
                                   "gate_proj",
                                   "up_proj",
                                   "down_proj"};

// As transformers 5 computes with them and some files have them, of GGUF those of a converter with
// --fuse-gate-up-exps; whether they are there.
bool name_joined_experts(TensorFinder& find, const std::string& prefix, std::uint64_t width,
                         DecoderLayer& layer) {
  const bool is_gguf = find.is_gguf();
  const std::string both =
      prefix + (is_gguf ? "ffn_gate_up_exps.weight" : "mlp.experts.gate_up_proj");
  if (!find.has(both)) return false;
  ExpertsSpec& experts = layer.experts;
  const std::uint64_t rows = layer.feed_forward;
  experts.gate = find.joined_experts(both, experts.count, 0, rows, 2 * rows, width);
  experts.up = find.joined_experts(both, experts.count, rows, rows, 2 * rows, width);
  experts.down =
      find.joined_experts(prefix + (is_gguf ? "ffn_down_exps.weight" : "mlp.experts.down_proj"),
                          experts.count, 0, width, width, rows);
  return true;
}

void name_experts(TensorFinder& find, const TensorNames& names, const DecoderTensors& tensors,
                  const std::string& prefix, std::uint64_t width, DecoderLayer& layer) {
  ExpertsSpec& experts = layer.experts;
  const Bias bias = tensors.biases.experts;
  const bool is_packed = tensors.kind->has_packed_experts && !find.is_gguf();
  const bool is_numbered = tensors.kind->has_numbered_expert_names && !find.is_gguf();
  const std::string numbered = "block_sparse_moe.gate";
  const bool has_numbered = is_numbered && find.has(prefix + numbered + ".weight");
  const std::string router = is_packed      ? "mlp.router"
                             : has_numbered ? numbered
                                            : std::string(names.router);
  experts.router = find.product(prefix + router, experts.count, width, bias);
  if (is_packed) {
    const std::string both = prefix + "mlp.experts.gate_up_proj_";
    experts.gate = find.packed_experts(both, experts.count, 0, 2, layer.feed_forward, width);
    experts.up = find.packed_experts(both, experts.count, 1, 2, layer.feed_forward, width);
    experts.down = find.packed_experts(prefix + "mlp.experts.down_proj_", experts.count, 0, 1,
                                       width, layer.feed_forward);
    return;
  }
  TensorNames own = names;
  if (is_numbered) {
    // modeling_mixtral.py, as files have them.
    own.experts = "block_sparse_moe.experts.";
    own.expert_gate = "w1";
    own.expert_up = "w3";
    own.expert_down = "w2";
  }
  const auto matrices = [&](std::string_view part, std::uint64_t rows, std::uint64_t columns) {
    return find.experts(prefix, own, part, experts.count, rows, columns, bias);
  };
  if (bias == Bias::always || !name_joined_experts(find, prefix, width, layer)) {
    experts.gate = matrices(own.expert_gate, layer.feed_forward, width);
    experts.up = matrices(own.expert_up, layer.feed_forward, width);
    experts.down = matrices(own.expert_down, width, layer.feed_forward);
  }
  if (experts.share == ExpertShare::sigmoid) {
    const char* const bias_name =
        find.is_gguf() ? "exp_probs_b.bias" : "mlp.gate.e_score_correction_bias";
    if (!find.is_gguf() || find.has(prefix + bias_name)) {
      experts.choice_bias = find.vector(prefix + bias_name, experts.count);
    }
  }
  if (!experts.has_shared()) return;
  const std::uint64_t rows = experts.shared_feed_forward;
  const bool has_score = tensors.kind->delta_period > 0;
  const std::string one = has_score ? "mlp.shared_expert." : "mlp.shared_experts.";
  const auto shared = [&](const char* gguf, const char* config) {
    return prefix + (find.is_gguf() ? std::string("ffn_") + gguf + "_shexp" : one + config);
  };
  if (has_score) {
    experts.shared_score = find.row(
        prefix + (find.is_gguf() ? "ffn_gate_inp_shexp" : "mlp.shared_expert_gate"), width);
  }
  experts.shared_gate = find.product(shared("gate", "gate_proj"), rows, width, Bias::never);
  experts.shared_up = find.product(shared("up", "up_proj"), rows, width, Bias::never);
  experts.shared_down = find.product(shared("down", "down_proj"), width, rows, Bias::never);
}

// llama.cpp's models/deepseek2.cpp; transformers' modeling_deepseek_v3.py.
void name_latents(TensorFinder& find, const DecoderTensors& tensors, const std::string& prefix,
                  const DecoderSpec& spec, DecoderLayer& layer) {
  const bool is_gguf = find.is_gguf();
  const auto name = [&](const char* gguf, const char* config) {
    return prefix + (is_gguf ? gguf : config);
  };
  const Bias bias = tensors.biases.qkv;
  const std::uint64_t width = spec.embedding;
  const std::uint64_t plain_length = spec.key_length - spec.rope.dimensions;
  const std::uint64_t queries = layer.heads * spec.key_length;
  LatentSpec& latent = layer.latent;
  if (latent.query_length > 0) {
    const std::uint64_t rank = latent.query_length;
    latent.query_down = find.product(name("attn_q_a", "self_attn.q_a_proj"), rank, width, bias);
    latent.query_norm =
        find.vector(name("attn_q_a_norm", "self_attn.q_a_layernorm") + ".weight", rank);
    layer.q = find.product(name("attn_q_b", "self_attn.q_b_proj"), queries, rank, Bias::never);
  } else {
    layer.q = find.product(name("attn_q", "self_attn.q_proj"), queries, width, Bias::never);
  }
  latent.down = find.product(name("attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"),
                             latent.length + spec.rope.dimensions, width, bias);
  latent.norm =
      find.vector(name("attn_kv_a_norm", "self_attn.kv_a_layernorm") + ".weight", latent.length);
  if (is_gguf && find.has(prefix + "attn_k_b.weight")) {
    latent.k_up = find.head_matrices(prefix + "attn_k_b", layer.heads, latent.length, plain_length);
    latent.v_up =
        find.head_matrices(prefix + "attn_v_b", layer.heads, spec.value_length, latent.length);
    return;
  }
  latent.up =
      find.product(name("attn_kv_b", "self_attn.kv_b_proj"),
                   layer.heads * (plain_length + spec.value_length), latent.length, Bias::never);
}

// transformers' modeling_qwen3_next.py and modeling_qwen3_5.py; llama.cpp's models/qwen3next.cpp,
// whose older files have q, k, v and z in one matrix as well, and models/qwen35.cpp.
void name_delta(TensorFinder& find, const DecoderTensors& tensors, const std::string& prefix,
                const DecoderSpec& spec, DecoderLayer& layer) {
  DeltaSpec& delta = layer.delta;
  const bool is_gguf = find.is_gguf();
  const bool is_grouped = tensors.kind->has_grouped_delta;
  const std::uint64_t heads = delta.value_heads;
  const auto name = [&](const char* gguf, const char* config) {
    return is_gguf ? prefix + gguf : prefix + "linear_attn." + config;
  };
  const auto product = [&](const char* gguf, const char* config, std::uint64_t rows) {
    return find.product(name(gguf, config), rows, spec.embedding, Bias::never);
  };
  if (is_grouped && (!is_gguf || find.has(prefix + "ssm_in.weight"))) {
    delta.mixed = product("ssm_in", "in_proj_qkvz", delta.channels() + delta.values());
  } else {
    delta.mixed = product("attn_qkv", "in_proj_qkv", delta.channels());
    delta.z = product("attn_gate", "in_proj_z", delta.values());
  }
  if (is_grouped) {
    delta.scores = product("ssm_ba", "in_proj_ba", 2 * heads);
  } else {
    delta.scores = product("ssm_beta", "in_proj_b", heads);
    delta.steps = product("ssm_alpha", "in_proj_a", heads);
  }
  delta.convolution =
      find.convolution(name("ssm_conv1d", "conv1d") + ".weight", delta.channels(), delta.taps);
  delta.decay_log = find.vector(name("ssm_a", "A_log"), heads);
  delta.step_bias = find.vector(name("ssm_dt.bias", "dt_bias"), heads);
  delta.norm = find.vector(name("ssm_norm", "norm") + ".weight", delta.value_length);
  layer.attention_output =
      find.product(name("ssm_out", "out_proj"), spec.embedding, delta.values(), Bias::never);
}

// Queries, keys and values of one tensor, or of three.
void name_projections(TensorFinder& find, const TensorNames& names, const DecoderTensors& tensors,
                      const DecoderSpec& spec, const std::string& prefix, DecoderLayer& layer) {
  const std::uint64_t queries = (layer.has_output_gate ? 2u : 1u) * layer.heads * spec.key_length;
  const std::uint64_t keys = layer.kv_heads * spec.key_length;
  const std::uint64_t values = layer.kv_heads * spec.value_length;
  const std::string fused = prefix + (find.is_gguf() ? "attn_qkv" : "self_attn.qkv_proj");
  if (tensors.kind->has_fused_matrices && (!find.is_gguf() || find.has(fused + ".weight"))) {
    const std::uint64_t all = queries + keys + values;
    layer.q = find.part(fused, 0, queries, all, spec.embedding);
    layer.k = find.part(fused, queries, keys, all, spec.embedding);
    layer.v = find.part(fused, queries + keys, values, all, spec.embedding);
    return;
  }
  const auto product = [&](std::string_view part, std::uint64_t rows) {
    return find.product(prefix + std::string(part), rows, spec.embedding, tensors.biases.qkv);
  };
  layer.q = product(names.q, queries);
  layer.k = product(names.k, keys);
  layer.v = product(names.v, values);
}

void name_mlp(TensorFinder& find, const TensorNames& names, const DecoderTensors& tensors,
              std::uint64_t width, const std::string& prefix, DecoderLayer& layer) {
  const Bias bias = tensors.biases.feed_forward;
  if (tensors.kind->has_fused_matrices) {
    const std::string both = prefix + (find.is_gguf() ? "ffn_up" : "mlp.gate_up_proj");
    const std::uint64_t rows = layer.feed_forward;
    layer.gate = find.part(both, 0, rows, 2 * rows, width);
    layer.up = find.part(both, rows, rows, 2 * rows, width);
  } else {
    layer.gate = find.product(prefix + std::string(names.gate), layer.feed_forward, width, bias);
    layer.up = find.product(prefix + std::string(names.up), layer.feed_forward, width, bias);
  }
  layer.down = find.product(prefix + std::string(names.down), width, layer.feed_forward, bias);
}

void name_layer(TensorFinder& find, const TensorNames& names, const DecoderTensors& tensors,
                const DecoderSpec& spec, std::size_t number, DecoderLayer& layer) {
  const std::string prefix = std::string(names.layer) + std::to_string(number) + ".";
  const auto name = [&](std::string_view part) { return prefix + std::string(part); };
  const std::uint64_t width = spec.embedding;
  if (tensors.kind->has_pre_norms) {
    layer.attention_norm = find.vector(name(names.attention_norm) + ".weight", width);
  }
  const DecoderBiases& biases = tensors.biases;
  if (layer.has_delta()) {
    name_delta(find, tensors, prefix, spec, layer);
  } else if (layer.has_latent()) {
    name_latents(find, tensors, prefix, spec, layer);
  } else {
    name_projections(find, names, tensors, spec, prefix, layer);
  }
  const bool is_stored =
      find.is_gguf() ? find.has(name(names.q_norm) + ".weight") : !tensors.lacks_head_norms;
  if (tensors.kind->has_head_norms && !layer.has_delta() &&
      (is_stored || !tensors.kind->has_optional_head_norms)) {
    const bool is_row = spec.has_row_norms;
    layer.q_norm = find.vector(name(names.q_norm) + ".weight",
                               is_row ? layer.heads * spec.key_length : spec.key_length);
    layer.k_norm = find.vector(name(names.k_norm) + ".weight",
                               is_row ? layer.kv_heads * spec.key_length : spec.key_length);
  }
  if (!layer.has_delta()) {
    layer.attention_output = find.product(name(names.attention_output), width,
                                          layer.heads * spec.value_length, biases.attention_output);
  }
  const bool has_post_norms = tensors.kind->has_post_norms;
  if (has_post_norms) {
    layer.attention_post_norm = find.vector(name(names.attention_post_norm) + ".weight", width);
    layer.feed_forward_post_norm =
        find.vector(name(names.feed_forward_post_norm) + ".weight", width);
  }
  if (tensors.kind->has_sinks) {
    layer.sinks =
        find.vector(name(find.is_gguf() ? "attn_sinks.weight" : "self_attn.sinks"), layer.heads);
  }
  if (tensors.kind->has_pre_norms && !spec.is_parallel) {
    layer.feed_forward_norm =
        find.vector(name(find.is_gguf() ? tensors.kind->gguf_feed_forward_norm
                                        : tensors.kind->config_feed_forward_norm) +
                        ".weight",
                    width);
  }
  if (layer.has_experts()) {
    name_experts(find, names, tensors, prefix, width, layer);
    return;
  }
  name_mlp(find, names, tensors, width, prefix, layer);
}

void name_divisors(TensorFinder& find, const DecoderTensors& tensors, RopeSpec& rope) {
  const std::uint64_t pairs = rope.dimensions / 2;
  if (rope.scaling == RopeScaling::longrope) {
    rope.divisors_tensor = find.vector("rope_factors_short.weight", pairs);
    rope.long_divisors_tensor = find.vector("rope_factors_long.weight", pairs);
  } else if (tensors.kind->has_divisors && find.has("rope_freqs.weight")) {
    rope.divisors_tensor = find.vector("rope_freqs.weight", pairs);
  }
}

}  // namespace

void name_decoder_tensors(const ModelFile& model, const DecoderTensors& tensors,
                          DecoderSpec& spec) {
  const bool is_gguf = model.format() == ModelFormat::gguf;
  const TensorNames& names = is_gguf ? gguf_names : config_names;
  const auto whole = [](std::string_view name) { return std::string(name) + ".weight"; };
  TensorFinder find(model, tensors);
  spec.has_row_norms = tensors.kind->has_row_norms;
  spec.has_layer_norms = tensors.kind->is_parallel;
  spec.is_parallel = tensors.kind->is_parallel;
  if (is_gguf) {
    name_divisors(find, tensors, spec.rope);
  }
  // transformers 5 takes a matrix that the file has, whatever tie_word_embeddings says.
  if (is_gguf || spec.is_tied) spec.is_tied = !find.has(whole(names.output));
  spec.embedding_tensor = find.matrix(whole(names.embedding), spec.vocabulary, spec.embedding);
  spec.output_norm = find.vector(whole(names.output_norm), spec.embedding);
  const std::string output(spec.is_tied ? names.embedding : names.output);
  spec.output = find.product(output, spec.vocabulary, spec.embedding, Bias::never);
  if (spec.is_tied && !spec.output.scales.empty()) {
    refuse_decoder(model.path(), "the embedding is in FP8", "use a model whose embedding is not");
  }
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    name_layer(find, names, tensors, spec, number, spec.layers[number]);
  }
  if (tensors.kind->delta_period > 0) find.leave_out("mtp.");
  find.leave_out_layers(names.layer, spec.layers.size(), tensors.further_layers);
  find.refuse_others(spec);
}

}  // namespace hiptool::model
