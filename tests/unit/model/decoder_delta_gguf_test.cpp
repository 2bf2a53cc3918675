// SPDX-License-Identifier: MIT
// What a GGUF says about layers with a state.
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
DecoderFile delta_file(const std::string& architecture) {
  DecoderFile file = DecoderFile::llama();
  file.architecture = architecture;
  file.tensors = {{"token_embd.weight", {12, 7}}, {"output_norm.weight", {12}}};
  const std::vector<std::pair<const char*, int>> counts{
      {"attention.key_length", 4},    {"attention.value_length", 4}, {"rope.dimension_count", 2},
      {"full_attention_interval", 2}, {"ssm.conv_kernel", 4},        {"ssm.state_size", 3},
      {"ssm.group_count", 2},         {"ssm.time_step_rank", 4},     {"ssm.inner_size", 20}};
  for (const auto& [name, count] : counts) file.set(name, count);
  const bool is_grouped = architecture == "qwen3next";
  const auto add = [&](const std::string& name, Shape shape) {
    file.tensor("blk." + name, std::move(shape));
  };
  add("0.attn_qkv.weight", {12, 32});
  add("0.attn_gate.weight", {12, 20});
  if (is_grouped) {
    add("0.ssm_ba.weight", {12, 8});
  } else {
    add("0.ssm_beta.weight", {12, 4});
    add("0.ssm_alpha.weight", {12, 4});
  }
  add("0.ssm_conv1d.weight", {4, 32});
  add("0.ssm_a", {4});
  add("0.ssm_dt.bias", {4});
  add("0.ssm_norm.weight", {5});
  add("0.ssm_out.weight", {20, 12});
  add("1.attn_q.weight", {12, 24});
  add("1.attn_k.weight", {12, 4});
  add("1.attn_v.weight", {12, 4});
  add("1.attn_q_norm.weight", {4});
  add("1.attn_k_norm.weight", {4});
  add("1.attn_output.weight", {12, 12});
  const bool has_experts = architecture != "qwen35";
  for (const std::string layer : {"0.", "1."}) {
    add(layer + "attn_norm.weight", {12});
    add(layer + "post_attention_norm.weight", {12});
    if (!has_experts) {
      add(layer + "ffn_gate.weight", {12, 20});
      add(layer + "ffn_up.weight", {12, 20});
      add(layer + "ffn_down.weight", {20, 12});
      continue;
    }
    add(layer + "ffn_gate_inp.weight", {12, 2});
    add(layer + "ffn_gate_inp_shexp.weight", {12});
    add(layer + "ffn_gate_shexp.weight", {12, 6});
    add(layer + "ffn_up_shexp.weight", {12, 6});
    add(layer + "ffn_down_shexp.weight", {6, 12});
    add(layer + "ffn_gate_exps.weight", {12, 9, 2});
    add(layer + "ffn_up_exps.weight", {12, 9, 2});
    add(layer + "ffn_down_exps.weight", {9, 12, 2});
  }
  if (!is_grouped) file.set("rope.dimension_sections", {1, 0, 0, 0});
  if (!has_experts) return file;
  file.set("expert_count", 2);
  file.set("expert_used_count", 1);
  file.set("expert_feed_forward_length", 9);
  file.set("expert_shared_feed_forward_length", 6);
  return file;
}

}  // namespace

TEST_CASE("decoder spec: a GGUF with a state, whose value heads are in the order of key heads") {
  const DecoderSpec spec = delta_file("qwen3next").read();
  CHECK(spec.norm_offset == 0);
  CHECK(spec.rope.dimensions == 2);
  CHECK(spec.rope.pairs == RopePairs::halves);
  const DecoderLayer& layer = spec.layers[0];
  REQUIRE(layer.has_delta());
  CHECK(!layer.has_output_gate);
  CHECK(!layer.delta.is_tiled);
  CHECK(layer.delta.has_rates);
  CHECK(layer.delta.key_heads == 2);
  CHECK(layer.delta.value_heads == 4);
  CHECK(layer.delta.key_length == 3);
  CHECK(layer.delta.value_length == 5);
  CHECK(layer.delta.taps == 4);
  CHECK(layer.delta.mixed.weight == "blk.0.attn_qkv.weight");
  CHECK(layer.delta.mixed.rows == 32);
  CHECK(layer.delta.z.weight == "blk.0.attn_gate.weight");
  CHECK(layer.delta.scores.weight == "blk.0.ssm_ba.weight");
  CHECK(layer.delta.has_mixed_steps());
  CHECK(layer.delta.convolution == "blk.0.ssm_conv1d.weight");
  CHECK(layer.delta.decay_log == "blk.0.ssm_a");
  CHECK(layer.delta.step_bias == "blk.0.ssm_dt.bias");
  CHECK(layer.delta.norm == "blk.0.ssm_norm.weight");
  CHECK(layer.attention_output.weight == "blk.0.ssm_out.weight");
  CHECK(layer.feed_forward_norm == "blk.0.post_attention_norm.weight");
  CHECK(layer.experts.shared_score.columns == 12);
  CHECK(layer.experts.shared_feed_forward == 6);
  CHECK(layer.experts.is_normalised);
  CHECK(layer.feed_forward == 9);
  CHECK(spec.layers[1].has_output_gate);
  CHECK(spec.layers[1].q.rows == 24);
}

TEST_CASE("decoder spec: a GGUF with a state, whose value heads are tiled") {
  for (const char* architecture : {"qwen35", "qwen35moe"}) {
    const DecoderSpec spec = delta_file(architecture).read();
    CHECK(spec.layers[0].delta.is_tiled);
    CHECK(spec.layers[0].delta.has_rates);
    CHECK(spec.layers[0].delta.scores.weight == "blk.0.ssm_beta.weight");
    CHECK(spec.layers[0].delta.steps.weight == "blk.0.ssm_alpha.weight");
    CHECK(spec.layers[0].has_experts() == (spec.architecture == "qwen35moe"));
  }
}

TEST_CASE("decoder spec: what other converters write of layers with a state") {
  // One matrix of q, k, v and z, as folders have it.
  DecoderFile file = delta_file("qwen3next");
  file.remove_tensor("blk.0.attn_qkv.weight").remove_tensor("blk.0.attn_gate.weight");
  file.tensor("blk.0.ssm_in.weight", {12, 52});
  CHECK(file.read().layers[0].delta.has_mixed_z());
  // The score of the shared expert as a matrix of one row.
  file = delta_file("qwen35moe");
  file.tensor("blk.0.ffn_gate_inp_shexp.weight", {12, 1});
  CHECK(file.read().layers[0].experts.shared_score.rows == 1);
  // Experts alone have a size.
  file.remove_key("feed_forward_length").set("expert_weights_norm", true);
  CHECK(file.read().layers[0].feed_forward == 9);
  file.remove_key("expert_feed_forward_length");
  check_refusal(file, "lack 'qwen35moe.expert_feed_forward_length'");
  // Gates and up of all experts in one tensor.
  file = delta_file("qwen35moe");
  file.remove_tensor("blk.1.ffn_gate_exps.weight").remove_tensor("blk.1.ffn_up_exps.weight");
  file.tensor("blk.1.ffn_gate_up_exps.weight", {12, 18, 2});
  CHECK(file.read().layers[1].experts.up.first_row == 9);
  CHECK(file.read().layers[1].experts.up.tensor_rows == 18);
  CHECK(file.read().layers[1].experts.down.tensor_rows == 0);
  file.tensor("blk.1.ffn_gate_up_exps.weight", {12, 9, 2});
  check_refusal(file, "'blk.1.ffn_gate_up_exps.weight' has the shape [12, 9, 2]");
  // A list of the layers in place of the period, layers of further tokens among them.
  file = delta_file("qwen35");
  file.set("block_count", 3).set("nextn_predict_layers", 1).remove_key("full_attention_interval");
  file.tensor("blk.2.nextn.enorm.weight", {12});
  file.set("attention.recurrent_layers", {true, false, false});
  CHECK(file.read().layers.size() == 2);
  CHECK(file.read().layers[1].has_output_gate);
  file.set("attention.recurrent_layers", {1, 0, 0});
  CHECK(file.read().layers[1].has_output_gate);
  file.set("attention.recurrent_layers", {true, false});
  check_refusal(file, "'qwen35.attention.recurrent_layers'", "does not fit 3 layers");
  file.set("attention.recurrent_layers", "all");
  check_refusal(file, "'qwen35.attention.recurrent_layers' is 'all'", "not an array");
  // The usual period is 4.
  file.remove_key("attention.recurrent_layers");
  check_refusal(file, "'blk.1.attn_qkv.weight' is missing");
}

TEST_CASE("decoder spec: GGUFs with a state that are refused") {
  const auto with = [](const char* name, const nlohmann::json& value,
                       const char* architecture = "qwen35moe") {
    DecoderFile file = delta_file(architecture);
    file.set(name, value);
    return file;
  };
  const auto without = [](const char* name) {
    DecoderFile file = delta_file("qwen35moe");
    file.remove_key(name);
    return file;
  };
  for (const char* name : {"ssm.conv_kernel", "ssm.state_size", "ssm.group_count",
                           "ssm.time_step_rank", "ssm.inner_size"}) {
    check_refusal(without(name), "lack 'qwen35moe." + std::string(name) + "'");
    check_refusal(with(name, 0), "'qwen35moe." + std::string(name) + "' is 0");
  }
  check_refusal(with("ssm.time_step_rank", 5), "not a multiple of 'qwen35moe.ssm.group_count'");
  check_refusal(with("ssm.inner_size", 22), "'qwen35moe.ssm.inner_size' is 22", "1 to 256");
  check_refusal(with("ssm.inner_size", 2048), "'qwen35moe.ssm.inner_size' is 2048");
  check_refusal(with("ssm.inner_size", 2), "'qwen35moe.ssm.inner_size' is 2");
  check_refusal(with("ssm.state_size", 257), "'qwen35moe.ssm.state_size' is 257");
  check_refusal(with("ssm.state_size", 4), "'blk.0.attn_qkv.weight' has the shape");
  check_refusal(with("ssm.conv_kernel", 3), "'blk.0.ssm_conv1d.weight' has the shape [4, 32]");
  check_refusal(with("full_attention_interval", 0), "'qwen35moe.full_attention_interval' is 0");
  check_refusal(with("attention.sliding_window", 8), "'qwen35moe.attention.sliding_window' is 8");
  check_refusal(with("expert_weights_norm", false), "'qwen35moe.expert_weights_norm' is false");
  check_refusal(with("nextn_predict_layers", 1, "qwen3next"),
                "'qwen3next.nextn_predict_layers' is 1");
  check_refusal(with("ssm.dt_b_c_rms", true), "'qwen35moe.ssm.dt_b_c_rms' is true");
  // Pairs that no section has would not turn.
  check_refusal(with("rope.dimension_sections", {0, 1, 0, 0}),
                "'qwen35moe.rope.dimension_sections'", "pair 0");
  check_refusal(with("rope.dimension_sections", {0, 0, 0, 0}), "pair 0");
  check_refusal(with("rope.dimension_sections", {-1, 1, 1, 1}), "out of range: -1");
  check_refusal(with("rope.dimension_sections", {1, 1}), "not four whole numbers");
  DecoderFile file = with("rope.dimension_count", 4);
  CHECK_NOTHROW(file.set("rope.dimension_sections", {11, 11, 10, 0}).read());
  check_refusal(file.set("rope.dimension_sections", {2, 0, 0, 0}), "pair 1");
  check_refusal(with("rope.dimension_sections", {1, 0, 0, 0}, "qwen3next"),
                "'qwen3next.rope.dimension_sections'", "unknown here");
  for (const char* name : {"ssm_a", "ssm_dt.bias", "ssm_norm.weight", "ssm_alpha.weight"}) {
    file = delta_file("qwen35");
    file.remove_tensor("blk.0." + std::string(name));
    check_refusal(file, "'blk.0." + std::string(name) + "' is missing");
  }
  file = delta_file("qwen35");
  file.tensor("blk.0.ssm_conv1d.bias", {32});
  check_refusal(file, "'blk.0.ssm_conv1d.bias' has no place");
  file = delta_file("qwen35moe");
  file.tensor("blk.0.ffn_gate_inp_shexp.weight", {13});
  check_refusal(file, "'blk.0.ffn_gate_inp_shexp.weight' has the shape [13]");
}
