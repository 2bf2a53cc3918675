// SPDX-License-Identifier: MIT
// What a GGUF of deepseek2 says: latents, and experts that count by their shares.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/decoder_spec.hpp"
#include "unit/model/decoder_files.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

/// A GGUF of deepseek2 as current converters write it, with matrices of keys and values apart: two
/// layers, of which the second has experts.
DecoderFile deepseek_file() {
  DecoderFile file = DecoderFile::llama();
  file.architecture = "deepseek2";
  file.remove_key("attention.head_count_kv");
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, nlohmann::json>>{{"attention.head_count_kv", 1},
                                                           {"attention.kv_lora_rank", 5},
                                                           {"attention.q_lora_rank", 8},
                                                           {"attention.key_length", 7},
                                                           {"attention.value_length", 5},
                                                           {"attention.key_length_mla", 6},
                                                           {"attention.value_length_mla", 3},
                                                           {"rope.dimension_count", 2},
                                                           {"leading_dense_block_count", 1},
                                                           {"expert_count", 6},
                                                           {"expert_used_count", 2},
                                                           {"expert_shared_count", 2},
                                                           {"expert_feed_forward_length", 9},
                                                           {"expert_weights_scale", 2.5},
                                                           {"expert_weights_norm", true},
                                                           {"expert_gating_func", 2},
                                                           {"expert_group_count", 3},
                                                           {"expert_group_used_count", 2}}) {
    file.set(name, value);
  }
  for (const std::string prefix : {"blk.0.", "blk.1."}) {
    for (const char* name : {"attn_q", "attn_k", "attn_v"}) {
      file.remove_tensor(prefix + name + ".weight");
    }
    file.tensor(prefix + "attn_q_a.weight", {12, 8}).tensor(prefix + "attn_q_a_norm.weight", {8});
    file.tensor(prefix + "attn_q_b.weight", {8, 18});
    file.tensor(prefix + "attn_kv_a_mqa.weight", {12, 7});
    file.tensor(prefix + "attn_kv_a_norm.weight", {5});
    file.tensor(prefix + "attn_k_b.weight", {4, 5, 3})
        .tensor(prefix + "attn_v_b.weight", {5, 3, 3});
    file.tensor(prefix + "attn_output.weight", {9, 12});
  }
  for (const char* name : {"gate", "up", "down"}) {
    const std::string part = std::string("blk.1.ffn_") + name;
    const bool is_down = part == "blk.1.ffn_down";
    file.remove_tensor(part + ".weight");
    file.tensor(part + "_exps.weight", is_down ? std::vector<std::uint64_t>{9, 12, 6}
                                               : std::vector<std::uint64_t>{12, 9, 6});
    file.tensor(part + "_shexp.weight",
                is_down ? std::vector<std::uint64_t>{18, 12} : std::vector<std::uint64_t>{12, 18});
  }
  file.tensor("blk.1.ffn_gate_inp.weight", {12, 6}).tensor("blk.1.exp_probs_b.bias", {6});
  return file;
}

}  // namespace

TEST_CASE("decoder spec: latents and shares of a GGUF of deepseek2") {
  const DecoderSpec spec = deepseek_file().read();
  CHECK(spec.key_length == 6);
  CHECK(spec.value_length == 3);
  CHECK(spec.rope.dimensions == 2);
  CHECK(spec.rope.pairs == RopePairs::neighbours);
  CHECK(spec.attention_scale == 1 / std::sqrt(6.0));
  CHECK(!spec.layers[0].has_experts());
  CHECK(spec.layers[0].feed_forward == 20);
  const DecoderLayer& layer = spec.layers[1];
  CHECK(layer.kv_heads == 3);
  CHECK(layer.latent.length == 5);
  CHECK(layer.latent.query_length == 8);
  CHECK(layer.latent.k_up.rows == 15);
  CHECK(layer.latent.k_up.columns == 4);
  CHECK(layer.latent.v_up.rows == 9);
  CHECK(layer.latent.up.weight.empty());
  CHECK(layer.experts.share == ExpertShare::sigmoid);
  CHECK(layer.experts.groups == 3);
  CHECK(layer.experts.groups_used == 2);
  CHECK(layer.experts.group_best == 2);
  CHECK(layer.experts.scale == 2.5);
  CHECK(layer.experts.is_normalised);
  CHECK(layer.experts.shared_feed_forward == 18);
  CHECK(layer.experts.choice_bias == "blk.1.exp_probs_b.bias");
  CHECK(layer.feed_forward == 9);

  // Older files: one matrix, keys of whole heads; files of V2 do not say how shares are made.
  DecoderFile old = deepseek_file();
  old.remove_key("attention.key_length_mla").remove_key("attention.value_length_mla");
  old.set("attention.key_length", 6).set("attention.value_length", 3);
  old.set("attention.head_count_kv", 3);
  old.remove_key("expert_gating_func").remove_tensor("blk.1.exp_probs_b.bias");
  for (const std::string prefix : {"blk.0.", "blk.1."}) {
    old.remove_tensor(prefix + "attn_k_b.weight").remove_tensor(prefix + "attn_v_b.weight");
    old.tensor(prefix + "attn_kv_b.weight", {5, 21});
  }
  const DecoderSpec whole = old.read();
  CHECK(whole.layers[1].latent.up.rows == 21);
  CHECK(whole.layers[1].experts.share == ExpertShare::softmax);

  // YaRN multiplies all scores, and not the cosines.
  DecoderFile yarn = deepseek_file();
  yarn.set("rope.scaling.type", "yarn").set("rope.scaling.factor", 40.0);
  yarn.set("rope.scaling.original_context_length", 16);
  check_refusal(yarn, "lack 'deepseek2.rope.scaling.yarn_log_multiplier'");
  yarn.set("rope.scaling.yarn_log_multiplier", 0.1);
  const DecoderSpec turned = yarn.read();
  CHECK(turned.rope.attention_factor == 1);
  const double factor = 1 + double{0.1f} * std::log(40.0);
  CHECK(turned.attention_scale == doctest::Approx(factor * factor / std::sqrt(6.0)));
}

TEST_CASE("decoder spec: latents and shares that are refused") {
  const auto with = [](const char* key, const nlohmann::json& value) {
    return deepseek_file().set(key, value);
  };
  check_refusal(with("expert_gating_func", 3), "expert_gating_func' is 3");
  check_refusal(with("expert_group_count", 4), "of 4 groups");
  check_refusal(with("expert_group_count", 6), "of 6 groups");  // the best two of one
  check_refusal(with("expert_group_used_count", 4), "4 of 3 groups");
  check_refusal(with("expert_used_count", 5), "5 of 6 experts from 2 of 3 groups");
  check_refusal(with("expert_weights_scale", -1.0), "expert_weights_scale' is -1");
  check_refusal(with("rope.dimension_count", 6), "leave none");
  check_refusal(with("nextn_predict_layers", 1), "nextn_predict_layers' is 1");
  check_refusal(with("rope.scaling.factor", 4.0), "known with yarn alone");
  check_refusal(deepseek_file().remove_key("attention.kv_lora_rank"), "kv_lora_rank");
  check_refusal(deepseek_file().remove_tensor("blk.1.attn_v_b.weight"),
                "'blk.1.attn_v_b.weight' is missing");
  check_refusal(deepseek_file().tensor("blk.0.attn_k_b.weight", {5, 4, 3}), "[5, 4, 3]");
  check_refusal(deepseek_file().remove_tensor("blk.1.ffn_up_shexp.weight"),
                "'blk.1.ffn_up_shexp.weight' is missing");
}
