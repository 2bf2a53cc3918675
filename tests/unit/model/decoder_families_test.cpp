// SPDX-License-Identifier: MIT
// Descriptions of architectures that are made of known parts.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "decoder_files.hpp"
#include "hiptool/decoder_spec.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

TEST_CASE("decoder spec: a decoder behind an encoder of images") {
  for (const std::string prefix : {"language_model.model.", "model.language_model."}) {
    ConfigFolder folder = config_with("model_type", "mistral");
    folder.config = {{"model_type", "mistral3"},
                     {"text_config", folder.config},
                     {"vision_config", {{"model_type", "pixtral"}}}};
    for (auto& [name, shape] : folder.tensors) name = prefix + name.substr(6);
    folder.tensors.emplace_back("vision_tower.ln_pre.weight", std::vector<std::uint64_t>{3});
    folder.tensors.emplace_back("model.multi_modal_projector.linear_1.weight",
                                std::vector<std::uint64_t>{2});
    const DecoderSpec spec = folder.read();
    CHECK(spec.architecture == "mistral");
    CHECK(spec.layers[0].q.weight == prefix + "layers.0.self_attn.q_proj.weight");
    folder.tensors.emplace_back("audio_tower.weight", std::vector<std::uint64_t>{2});
    check_refusal(folder, "'audio_tower.weight' has no place");
    folder.tensors.pop_back();
    folder.config["text_config"]["surprise"] = 1;
    check_refusal(folder, "'text_config.surprise' is 1");
    folder.config["model_type"] = "llava";
    check_refusal(folder, "'model_type' is \"llava\"");
  }
}

TEST_CASE("decoder spec: matrices that share a tensor, and a part of a head that is turned") {
  ConfigFolder phi = config_with("model_type", "phi3");
  std::erase_if(phi.tensors, [](const auto& tensor) {
    return tensor.first.find("mlp.") != std::string::npos ||
           tensor.first.find("v_proj") != std::string::npos ||
           tensor.first.find("k_proj") != std::string::npos ||
           tensor.first.find("q_proj") != std::string::npos;
  });
  for (const auto& [name, rows, columns] :
       {std::tuple{"self_attn.qkv_proj", 20u, 12u}, std::tuple{"mlp.gate_up_proj", 40u, 12u},
        std::tuple{"mlp.down_proj", 12u, 20u}}) {
    phi.tensors.emplace_back("model.layers.0." + std::string(name) + ".weight",
                             std::vector<std::uint64_t>{rows, columns});
  }
  phi.config["partial_rotary_factor"] = 0.5;
  phi.config["resid_pdrop"] = 0.1;
  phi.config["full_attn_mod"] = 1;
  const DecoderSpec spec = phi.read();
  CHECK(spec.rope.dimensions == 2);
  const DecoderLayer& layer = spec.layers[0];
  CHECK(layer.q.rows == 12);
  CHECK(layer.k.first_row == 12);
  CHECK(layer.v.first_row == 16);
  CHECK(layer.v.rows == 4);
  CHECK(layer.v.tensor_rows == 20);
  CHECK(layer.up.first_row == 20);
  CHECK(layer.down.tensor_rows == 0);
  phi.config["full_attn_mod"] = 2;
  check_refusal(phi, "'full_attn_mod' is 2");
  phi.config["full_attn_mod"] = 1;
  phi.config["partial_rotary_factor"] = 1.5;
  check_refusal(phi, "'partial_rotary_factor' is 1.5");
}

TEST_CASE("decoder spec: layers that do not turn queries and keys") {
  ConfigFolder smol = config_with("model_type", "smollm3");
  CHECK(smol.read().layers[0].has_rope);
  CHECK(smol.read().rope.base == 2e6);
  smol.config["no_rope_layer_interval"] = 1;
  CHECK_FALSE(smol.read().layers[0].has_rope);
  smol.config["no_rope_layers"] = {1};
  CHECK(smol.read().layers[0].has_rope);
  smol.config["no_rope_layers"] = {0};
  smol.config["use_sliding_window"] = true;
  smol.config["sliding_window"] = 9;
  smol.config["max_window_layers"] = 28;
  CHECK_FALSE(smol.read().layers[0].has_rope);
  CHECK(smol.read().layers[0].window == 9);
  smol.config["no_rope_layers"] = {1};
  CHECK(smol.read().layers[0].window == 0);
  smol.config["layer_types"] = {"sliding_attention"};
  CHECK(smol.read().layers[0].window == 9);
  smol.config["no_rope_layers"] = {2};
  check_refusal(smol, "'no_rope_layers' is [2]");
}

TEST_CASE("decoder spec: experts of a GGUF of llama") {
  DecoderFile file = llama_file().set("expert_count", 5).set("expert_used_count", 2);
  for (const std::string prefix : {"blk.0.", "blk.1."}) {
    for (const char* name : {"ffn_gate", "ffn_up", "ffn_down"}) {
      file.remove_tensor(prefix + name + ".weight");
    }
    file.tensor(prefix + "ffn_gate_inp.weight", {12, 5});
    file.tensor(prefix + "ffn_gate_exps.weight", {12, 20, 5});
    file.tensor(prefix + "ffn_up_exps.weight", {12, 20, 5});
    file.tensor(prefix + "ffn_down_exps.weight", {20, 12, 5});
  }
  const DecoderSpec spec = file.read();
  CHECK(spec.layers[1].experts.count == 5);
  CHECK(spec.layers[1].experts.used == 2);
  CHECK(spec.layers[1].experts.is_normalised);
  CHECK(spec.layers[1].feed_forward == 20);
  check_refusal(file.set("expert_used_count", 6), "'llama.expert_used_count' is 6");
}
