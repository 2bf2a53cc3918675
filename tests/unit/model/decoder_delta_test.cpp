// SPDX-License-Identifier: MIT
// What a config.json says about layers with a state.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/decoder_spec.hpp"
#include "unit/model/decoder_files.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

using Shape = std::vector<std::uint64_t>;

/// Two layers, of which the second has attention; 2 heads of keys of 3, 4 of values of 5.
ConfigFolder delta_folder(bool is_grouped) {
  ConfigFolder folder;
  folder.config["model_type"] = is_grouped ? "qwen3_next" : "qwen3_5_text";
  const std::vector<std::pair<const char*, int>> counts{
      {"num_hidden_layers", 2},       {"head_dim", 4},
      {"full_attention_interval", 2}, {"linear_num_key_heads", 2},
      {"linear_num_value_heads", 4},  {"linear_key_head_dim", 3},
      {"linear_value_head_dim", 5},   {"linear_conv_kernel_dim", 4}};
  for (const auto& [name, count] : counts) folder.config[name] = count;
  folder.config["rope_parameters"] = {
      {"rope_type", "default"}, {"rope_theta", 1e7}, {"partial_rotary_factor", 0.5}};
  const auto add = [&](const std::string& name, Shape shape) {
    folder.tensors.emplace_back("model.layers." + name, std::move(shape));
  };
  std::erase_if(folder.tensors, [](const auto& tensor) {
    return tensor.first.find("layers.0.") != std::string::npos;
  });
  const std::string state = "0.linear_attn.";
  if (is_grouped) {
    add(state + "in_proj_qkvz.weight", {52, 12});
    add(state + "in_proj_ba.weight", {8, 12});
  } else {
    add(state + "in_proj_qkv.weight", {32, 12});
    add(state + "in_proj_z.weight", {20, 12});
    add(state + "in_proj_b.weight", {4, 12});
    add(state + "in_proj_a.weight", {4, 12});
  }
  add(state + "conv1d.weight", {32, 1, 4});
  add(state + "A_log", {4});
  add(state + "dt_bias", {4});
  add(state + "norm.weight", {5});
  add(state + "out_proj.weight", {12, 20});
  add("1.self_attn.q_proj.weight", {24, 12});
  add("1.self_attn.k_proj.weight", {4, 12});
  add("1.self_attn.v_proj.weight", {4, 12});
  add("1.self_attn.q_norm.weight", {4});
  add("1.self_attn.k_norm.weight", {4});
  add("1.self_attn.o_proj.weight", {12, 12});
  for (const std::string layer : {"0.", "1."}) {
    add(layer + "input_layernorm.weight", {12});
    add(layer + "post_attention_layernorm.weight", {12});
    if (!is_grouped) {
      add(layer + "mlp.gate_proj.weight", {20, 12});
      add(layer + "mlp.up_proj.weight", {20, 12});
      add(layer + "mlp.down_proj.weight", {12, 20});
      continue;
    }
    add(layer + "mlp.gate.weight", {2, 12});
    add(layer + "mlp.shared_expert_gate.weight", {1, 12});
    add(layer + "mlp.shared_expert.gate_proj.weight", {6, 12});
    add(layer + "mlp.shared_expert.up_proj.weight", {6, 12});
    add(layer + "mlp.shared_expert.down_proj.weight", {12, 6});
    for (const std::string expert : {"0.", "1."}) {
      add(layer + "mlp.experts." + expert + "gate_proj.weight", {9, 12});
      add(layer + "mlp.experts." + expert + "up_proj.weight", {9, 12});
      add(layer + "mlp.experts." + expert + "down_proj.weight", {12, 9});
    }
  }
  if (!is_grouped) return folder;
  folder.config.erase("intermediate_size");
  folder.config["num_experts"] = 2;
  folder.config["num_experts_per_tok"] = 1;
  folder.config["moe_intermediate_size"] = 9;
  folder.config["shared_expert_intermediate_size"] = 6;
  return folder;
}

}  // namespace

TEST_CASE("decoder spec: layers with a state, gated attention, a shared expert with a score") {
  const DecoderSpec spec = delta_folder(true).read();
  CHECK(spec.norm_offset == 1);
  CHECK(spec.rope.dimensions == 2);
  CHECK(spec.rope.pairs == RopePairs::halves);
  const DecoderLayer& layer = spec.layers[0];
  REQUIRE(layer.has_delta());
  CHECK(!layer.has_output_gate);
  CHECK(layer.delta.key_heads == 2);
  CHECK(layer.delta.value_heads == 4);
  CHECK(layer.delta.key_length == 3);
  CHECK(layer.delta.value_length == 5);
  CHECK(layer.delta.taps == 4);
  CHECK(layer.delta.channels() == 32);
  CHECK(layer.delta.mixed.rows == 52);
  CHECK(layer.delta.z.weight.empty());
  CHECK(layer.delta.scores.rows == 8);
  CHECK(layer.q.weight.empty());
  CHECK(layer.q_norm.empty());
  CHECK(layer.attention_output.columns == 20);
  CHECK(layer.experts.shared_feed_forward == 6);
  CHECK(layer.experts.shared_score.rows == 1);
  CHECK(layer.experts.is_normalised);
  CHECK(layer.feed_forward == 9);
  const DecoderLayer& last = spec.layers[1];
  CHECK(!last.has_delta());
  CHECK(last.has_output_gate);
  CHECK(last.q.rows == 24);
  CHECK(last.attention_output.columns == 12);

  const DecoderSpec dense = delta_folder(false).read();
  CHECK(dense.layers[0].delta.mixed.rows == 32);
  CHECK(dense.layers[0].delta.z.rows == 20);
  CHECK(dense.layers[0].delta.steps.rows == 4);
  CHECK(!dense.layers[0].has_experts());
}

TEST_CASE("decoder spec: what folders of Qwen3.5 have besides") {
  ConfigFolder folder = delta_folder(false);
  folder.config["attn_output_gate"] = true;
  folder.config["mamba_ssm_dtype"] = "float32";
  folder.config["mtp_num_hidden_layers"] = 1;
  folder.config["rope_parameters"]["mrope_section"] = {1, 1, 0};
  folder.config["rope_parameters"]["mrope_interleaved"] = true;
  folder.config = {{"model_type", "qwen3_5"},
                   {"text_config", folder.config},
                   {"vision_config", {{"model_type", "qwen3_5_vision"}}}};
  for (auto& [name, shape] : folder.tensors) name = "model.language_model." + name.substr(6);
  folder.tensors.emplace_back("model.visual.patch_embed.proj.weight", Shape{3});
  folder.tensors.emplace_back("mtp.fc.weight", Shape{12, 24});
  const DecoderSpec spec = folder.read();
  CHECK(spec.architecture == "qwen3_5_text");
  CHECK(spec.layers[0].delta.convolution ==
        "model.language_model.layers.0.linear_attn.conv1d.weight");
}

TEST_CASE("decoder spec: layers with a state by a list, and without a period") {
  ConfigFolder folder = delta_folder(false);
  folder.config.erase("full_attention_interval");
  folder.config["layer_types"] = {"linear_attention", "full_attention"};
  CHECK(folder.read().layers[1].has_output_gate);
  folder.config["layer_types"] = {"full_attention", "linear_attention"};
  check_refusal(folder, "'model.layers.0.self_attn.q_proj.weight' is missing");
  folder.config["layer_types"] = {"linear_attention", "sliding_attention"};
  check_refusal(folder, "'layer_types'", "a type that is not supported");
  folder.config["layer_types"] = {"linear_attention"};
  check_refusal(folder, "'layer_types'", "one type for each layer");
  folder.config.erase("layer_types");  // the usual period is 4
  check_refusal(folder, "'model.layers.1.linear_attn.in_proj_qkv.weight' is missing");
}

TEST_CASE("decoder spec: experts of a layer in one tensor") {
  const auto joined = [] {
    ConfigFolder folder = delta_folder(true);
    std::erase_if(folder.tensors, [](const auto& tensor) {
      return tensor.first.find(".experts.") != std::string::npos;
    });
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
      folder.tensors.emplace_back(layer + "mlp.experts.gate_up_proj", Shape{2, 18, 12});
      folder.tensors.emplace_back(layer + "mlp.experts.down_proj", Shape{2, 12, 9});
    }
    return folder;
  };
  const DecoderSpec spec = joined().read();
  const ExpertsSpec& experts = spec.layers[1].experts;
  CHECK(experts.gate.weights ==
        std::vector<std::string>{"model.layers.1.mlp.experts.gate_up_proj"});
  CHECK(experts.up.weights == experts.gate.weights);
  CHECK(experts.gate.first_row == 0);
  CHECK(experts.up.first_row == 9);
  CHECK(experts.up.rows == 9);
  CHECK(experts.up.tensor_rows == 18);
  CHECK(experts.down.tensor_rows == 0);
  CHECK(experts.down.rows == 12);
  CHECK(experts.down.columns == 9);
  ConfigFolder folder = joined();
  folder.tensors.back().second = {2, 9, 12};
  check_refusal(folder, "down_proj' has the shape [2, 9, 12] in place of [2, 12, 9]");
  folder = joined();
  folder.tensors.pop_back();
  check_refusal(folder, "'model.layers.1.mlp.experts.down_proj' is missing");
  folder = joined();
  folder.tensors.emplace_back("model.layers.0.mlp.experts.gate_up_proj_scale_inv", Shape{2, 1, 1});
  check_refusal(folder, "gate_up_proj_scale_inv' has no place");
}

TEST_CASE("decoder spec: layers with a state that are refused") {
  const auto with = [](const char* name, const nlohmann::json& value) {
    ConfigFolder folder = delta_folder(true);
    folder.config[name] = value;
    return folder;
  };
  check_refusal(with("linear_num_value_heads", 3), "not a multiple of 'linear_num_key_heads'");
  check_refusal(with("linear_key_head_dim", 257), "'linear_key_head_dim' is 257");
  check_refusal(with("linear_conv_kernel_dim", 0), "'linear_conv_kernel_dim' is 0");
  check_refusal(with("linear_conv_kernel_dim", 3), "conv1d.weight' has the shape [32, 1, 4]");
  check_refusal(with("linear_value_head_dim", 6), "has the shape");
  check_refusal(with("attn_output_gate", false), "'attn_output_gate' is false");
  check_refusal(with("decoder_sparse_step", 2), "'decoder_sparse_step' is 2");
  check_refusal(with("mlp_only_layers", {1}), "'mlp_only_layers'");
  check_refusal(with("hidden_act", "gelu"), "'hidden_act'");
  ConfigFolder folder = delta_folder(false);
  folder.config["rope_parameters"]["partial_rotary_factor"] = 0.3;
  check_refusal(folder, "a rotary embedding of 1 element");
  folder.config["rope_parameters"]["partial_rotary_factor"] = 1.5;
  check_refusal(folder, "partial_rotary_factor' is 1.5");
  folder = delta_folder(true);
  folder.config.erase("shared_expert_intermediate_size");
  check_refusal(folder, "'shared_expert_intermediate_size'");
  folder = delta_folder(true);
  folder.tensors.emplace_back("model.layers.0.linear_attn.conv1d.bias", Shape{32});
  check_refusal(folder, "'model.layers.0.linear_attn.conv1d.bias' has no place");
  folder = delta_folder(true);
  std::erase_if(folder.tensors, [](const auto& tensor) {
    return tensor.first == "model.layers.0.linear_attn.dt_bias";
  });
  check_refusal(folder, "'model.layers.0.linear_attn.dt_bias' is missing");
}
