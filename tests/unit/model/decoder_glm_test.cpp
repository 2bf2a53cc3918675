// SPDX-License-Identifier: MIT
// What files of glm4moe say: a part of a head that is turned, norms of heads that only some models
// have, experts that count by their shares, and a layer of further tokens.
#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/decoder_spec.hpp"
#include "unit/model/decoder_files.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

using Shape = std::vector<std::uint64_t>;

/// A GGUF as the converter writes it: two layers, of which the second has experts, and one of
/// further tokens.
DecoderFile glm_file() {
  DecoderFile file = DecoderFile::llama();
  file.architecture = "glm4moe";
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, nlohmann::json>>{{"block_count", 3},
                                                           {"nextn_predict_layers", 1},
                                                           {"attention.key_length", 4},
                                                           {"attention.value_length", 4},
                                                           {"rope.dimension_count", 2},
                                                           {"leading_dense_block_count", 1},
                                                           {"expert_count", 6},
                                                           {"expert_used_count", 2},
                                                           {"expert_shared_count", 1},
                                                           {"expert_feed_forward_length", 9},
                                                           {"expert_weights_scale", 2.5},
                                                           {"expert_weights_norm", true},
                                                           {"expert_gating_func", 2}}) {
    file.set(name, value);
  }
  for (const std::string prefix : {"blk.0.", "blk.1."}) {
    file.remove_tensor(prefix + "ffn_norm.weight");
    file.tensor(prefix + "post_attention_norm.weight", {12});
    file.tensor(prefix + "attn_q.bias", {12}).tensor(prefix + "attn_k.bias", {4});
    file.tensor(prefix + "attn_v.bias", {4});
  }
  for (const std::string name : {"gate", "up", "down"}) {
    const bool is_down = name == "down";
    file.remove_tensor("blk.1.ffn_" + name + ".weight");
    file.tensor("blk.1.ffn_" + name + "_exps.weight", is_down ? Shape{9, 12, 6} : Shape{12, 9, 6});
    file.tensor("blk.1.ffn_" + name + "_shexp.weight", is_down ? Shape{9, 12} : Shape{12, 9});
  }
  file.tensor("blk.1.ffn_gate_inp.weight", {12, 6}).tensor("blk.1.exp_probs_b.bias", {6});
  file.tensor("blk.2.attn_q.weight", {12, 12}).tensor("blk.2.nextn.eh_proj.weight", {24, 12});
  return file;
}

/// A folder with one layer, which has experts, and one of further tokens.
ConfigFolder glm_folder() {
  ConfigFolder folder = config_with("model_type", "glm4_moe");
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, nlohmann::json>>{{"attention_bias", true},
                                                           {"head_dim", 4},
                                                           {"use_qk_norm", true},
                                                           {"n_routed_experts", 4},
                                                           {"n_shared_experts", 1},
                                                           {"num_experts_per_tok", 2},
                                                           {"moe_intermediate_size", 9},
                                                           {"first_k_dense_replace", 0},
                                                           {"n_group", 1},
                                                           {"topk_group", 1},
                                                           {"norm_topk_prob", true},
                                                           {"routed_scaling_factor", 1.5},
                                                           {"num_nextn_predict_layers", 1}}) {
    folder.config[name] = value;
  }
  std::erase_if(folder.tensors,
                [](const auto& tensor) { return tensor.first.find("mlp.") != std::string::npos; });
  const std::string layer = "model.layers.0.";
  const auto add = [&](const std::string& name, Shape shape) {
    folder.tensors.emplace_back(layer + name, std::move(shape));
  };
  add("self_attn.q_proj.bias", {12});
  add("self_attn.k_proj.bias", {4});
  add("self_attn.v_proj.bias", {4});
  add("self_attn.q_norm.weight", {4});
  add("self_attn.k_norm.weight", {4});
  add("mlp.gate.weight", {4, 12});
  add("mlp.gate.e_score_correction_bias", {4});
  for (const std::string name :
       {"shared_experts.", "experts.0.", "experts.1.", "experts.2.", "experts.3."}) {
    add("mlp." + name + "gate_proj.weight", {9, 12});
    add("mlp." + name + "up_proj.weight", {9, 12});
    add("mlp." + name + "down_proj.weight", {12, 9});
  }
  folder.tensors.emplace_back("model.layers.1.eh_proj.weight", Shape{12, 24});
  return folder;
}

void remove_tensors(ConfigFolder& folder, const std::string& part) {
  std::erase_if(folder.tensors,
                [&](const auto& tensor) { return tensor.first.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("decoder spec: a GGUF of glm4moe") {
  const DecoderSpec spec = glm_file().read();
  CHECK(spec.layers.size() == 2);
  CHECK(spec.rope.dimensions == 2);
  CHECK(spec.rope.pairs == RopePairs::halves);
  CHECK(!spec.layers[0].has_experts());
  CHECK(spec.layers[0].feed_forward == 20);
  const DecoderLayer& layer = spec.layers[1];
  CHECK(layer.feed_forward_norm == "blk.1.post_attention_norm.weight");
  CHECK(layer.q.bias == "blk.1.attn_q.bias");
  CHECK(layer.attention_output.bias.empty());
  CHECK(layer.q_norm.empty());
  CHECK(layer.experts.share == ExpertShare::sigmoid);
  CHECK(layer.experts.choice_bias == "blk.1.exp_probs_b.bias");
  CHECK(layer.experts.groups == 1);
  CHECK(layer.experts.scale == 2.5);
  CHECK(layer.experts.is_normalised);
  CHECK(layer.experts.shared_feed_forward == 9);
  CHECK(layer.feed_forward == 9);

  DecoderFile normed = glm_file();
  for (const std::string prefix : {"blk.0.", "blk.1."}) {
    normed.tensor(prefix + "attn_q_norm.weight", {4}).tensor(prefix + "attn_k_norm.weight", {4});
  }
  CHECK(normed.read().layers[1].k_norm == "blk.1.attn_k_norm.weight");
  // llama.cpp takes sigmoids where a file does not say.
  CHECK(glm_file().remove_key("expert_gating_func").read().layers[1].experts.share ==
        ExpertShare::sigmoid);
  DecoderFile without = glm_file();
  without.set("block_count", 2).remove_key("nextn_predict_layers");
  without.remove_tensor("blk.2.attn_q.weight").remove_tensor("blk.2.nextn.eh_proj.weight");
  CHECK(without.read().layers.size() == 2);
}

TEST_CASE("decoder spec: a GGUF of glm4moe that is refused") {
  check_refusal(glm_file().set("nextn_predict_layers", 3), "nextn_predict_layers' is 3");
  check_refusal(glm_file().set("nextn_predict_layers", 0), "'blk.2.attn_norm.weight' is missing");
  check_refusal(glm_file().tensor("blk.3.attn_q.weight", {12, 12}), "'blk.3.attn_q.weight' has no");
  check_refusal(glm_file().tensor("blk.1.attn_k_norm.weight", {4}), "attn_k_norm.weight' has no");
  check_refusal(glm_file().tensor("blk.1.attn_q_norm.weight", {4}), "attn_k_norm.weight' is miss");
  check_refusal(glm_file().tensor("blk.1.attn_output.bias", {12}), "attn_output.bias' has no");
  check_refusal(glm_file().set("rope.dimension_sections", nlohmann::json{1, 1, 0, 0}),
                "rope.dimension_sections");
}

TEST_CASE("decoder spec: a folder of glm4_moe") {
  const DecoderSpec spec = glm_folder().read();
  CHECK(spec.layers.size() == 1);
  const DecoderLayer& layer = spec.layers[0];
  CHECK(spec.rope.dimensions == 2);  // of 4, where config.json does not say
  CHECK(layer.q.bias == "model.layers.0.self_attn.q_proj.bias");
  CHECK(layer.attention_output.bias.empty());
  CHECK(layer.q_norm == "model.layers.0.self_attn.q_norm.weight");
  CHECK(layer.experts.share == ExpertShare::sigmoid);
  CHECK(layer.experts.scale == 1.5);
  CHECK(layer.experts.shared_feed_forward == 9);
  CHECK(layer.experts.choice_bias == "model.layers.0.mlp.gate.e_score_correction_bias");

  ConfigFolder whole = glm_folder();
  whole.config["partial_rotary_factor"] = 1.0;
  CHECK(whole.read().rope.dimensions == 4);
  whole.config.erase("partial_rotary_factor");
  whole.config["rope_parameters"] = {{"rope_type", "default"}, {"partial_rotary_factor", 1.0}};
  CHECK(whole.read().rope.dimensions == 4);
  // What transformers takes where config.json does not say.
  ConfigFolder plain = glm_folder();
  plain.config.erase("use_qk_norm");
  plain.config.erase("attention_bias");
  remove_tensors(plain, "_norm.");
  remove_tensors(plain, "_proj.bias");
  CHECK(plain.read().layers[0].q_norm.empty());
  CHECK(plain.read().layers[0].q.bias.empty());
}

TEST_CASE("decoder spec: a folder of glm4_moe that is refused") {
  const auto with = [](const char* name, const nlohmann::json& value) {
    ConfigFolder folder = glm_folder();
    folder.config[name] = value;
    return folder;
  };
  check_refusal(with("use_qk_norm", false), "_norm.weight' has no place");
  check_refusal(with("attention_bias", false), "_proj.bias' has no place");
  check_refusal(with("num_nextn_predict_layers", 0), "'model.layers.1.eh_proj.weight' has no");
  check_refusal(with("partial_rotary_factor", 1.5), "'partial_rotary_factor' is 1.5");
  check_refusal(with("n_group", 3), "of 3 groups");
  check_refusal(with("routed_scaling_factor", 0), "'routed_scaling_factor' is 0");
  check_refusal(with("sliding_window", 8), "'sliding_window' is 8");
  ConfigFolder missing = glm_folder();
  missing.config.erase("n_shared_experts");
  check_refusal(missing, "'n_shared_experts' is absent");
}
