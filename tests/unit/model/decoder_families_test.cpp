// SPDX-License-Identifier: MIT
// Descriptions of architectures that are made of known parts.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
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

TEST_CASE("decoder spec: windows that a GGUF of so many layers has without a key") {
  for (const std::size_t layers : {std::size_t{30}, std::size_t{64}}) {
    DecoderFile file = llama_file().set("block_count", layers);
    file.architecture = "exaone4";
    file.tensors.resize(2);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      for (const auto& [name, shape] : llama_file().tensors) {
        const bool is_norm = name.ends_with("_norm.weight");
        if (name.starts_with("blk.0.") && !is_norm) file.tensor(prefix + name.substr(6), shape);
      }
      for (const char* name : {"post_attention_norm", "post_ffw_norm"}) {
        file.tensor(prefix + name + ".weight", {12});
      }
      for (const char* name : {"attn_q_norm", "attn_k_norm"}) {
        file.tensor(prefix + name + ".weight", {4});
      }
    }
    const DecoderSpec spec = file.read();
    const bool has_windows = layers == 64;
    CHECK(spec.layers[0].window == (has_windows ? 4096 : 0));
    CHECK(spec.layers[3].window == 0);
    CHECK(spec.layers[0].has_rope);
    CHECK(spec.layers[3].has_rope == !has_windows);
    // The key comes first.
    CHECK(file.set("attention.sliding_window", 5).read().layers[0].window == 5);
  }
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

namespace {

/// A folder of gemma2, gemma3_text or cohere2.
ConfigFolder folder_of_layers(const std::string& type, std::size_t layers) {
  const bool is_gemma = type != "cohere2";
  ConfigFolder folder = config_with("model_type", type);
  folder.config["num_hidden_layers"] = layers;
  folder.config["head_dim"] = 4;
  folder.config["sliding_window"] = 5;
  if (!is_gemma) folder.config.erase("rms_norm_eps");
  const auto first = folder.tensors;
  folder.tensors.erase(folder.tensors.begin() + 2, folder.tensors.end());
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer);
    const auto add = [&](const std::string& name, std::uint64_t elements) {
      folder.tensors.emplace_back(prefix + name, std::vector<std::uint64_t>{elements});
    };
    for (std::size_t i = 2; i < first.size(); ++i) {
      const std::string name = first[i].first.substr(std::string("model.layers.0").size());
      if (!is_gemma && name == ".post_attention_layernorm.weight") continue;
      folder.tensors.emplace_back(prefix + name, first[i].second);
    }
    if (!is_gemma) continue;
    add(".pre_feedforward_layernorm.weight", 12);
    add(".post_feedforward_layernorm.weight", 12);
    if (type == "gemma2") continue;
    add(".self_attn.q_norm.weight", 4);
    add(".self_attn.k_norm.weight", 4);
  }
  return folder;
}

}  // namespace

TEST_CASE("decoder spec: windows of a config.json without a type for each layer") {
  for (const auto& row :
       {std::pair{"gemma2", 2u}, std::pair{"gemma3_text", 6u}, std::pair{"cohere2", 4u}}) {
    const auto& [type, usual_period] = row;
    CAPTURE(row.first);
    ConfigFolder folder = folder_of_layers(type, 9);
    const auto check_period = [&folder](std::size_t period, std::uint64_t window) {
      const DecoderSpec spec = folder.read();
      for (std::size_t layer = 0; layer < 9; ++layer) {
        CAPTURE(layer);
        CHECK(spec.layers[layer].window == ((layer + 1) % period == 0 ? 0 : window));
      }
    };
    check_period(usual_period, 5);
    folder.config["sliding_window_pattern"] = 3;
    check_period(3, 5);
    folder.config.erase("sliding_window");
    check_period(3, 4096);
    folder.config["sliding_window"] = nullptr;
    check_refusal(folder, "'sliding_window' is null");
  }
}

TEST_CASE("decoder spec: what config.json leaves out is transformers' default") {
  ConfigFolder gemma = folder_of_layers("gemma2", 1);
  CHECK(gemma.read().attention_softcap == 50);
  CHECK(gemma.read().logit_softcap == 30);
  gemma.config["attn_logit_softcapping"] = nullptr;
  gemma.config["final_logit_softcapping"] = 7.5;
  CHECK(gemma.read().attention_softcap == 0);
  CHECK(gemma.read().logit_softcap == 7.5);
  for (const auto& [type, epsilon] : {std::pair{"mistral", 1e-6}, std::pair{"llama", 1e-6}}) {
    ConfigFolder folder = config_with("model_type", type);
    folder.config.erase("rms_norm_eps");
    CHECK(folder.read().norm_epsilon == epsilon);
  }
  ConfigFolder cohere = folder_of_layers("cohere2", 1);
  CHECK(cohere.read().norm_epsilon == 1e-5);
  CHECK(config_with("model_type", "mistral").read().layers[0].window == 4096);
  ConfigFolder whole = config_with("model_type", "mistral");
  whole.config["sliding_window"] = nullptr;
  CHECK(whole.read().layers[0].window == 0);
  ConfigFolder qwen = config_with("model_type", "llama");
  qwen.config["is_causal"] = false;
  check_refusal(qwen, "'is_causal' is false");
  // A window without a layer that has it: those layers of cohere2 turn nothing.
  cohere.config["layer_types"] = {"full_attention"};
  CHECK_FALSE(cohere.read().layers[0].has_rope);
}

TEST_CASE("decoder spec: gemma3 behind an encoder of images is the decoder alone") {
  ConfigFolder alone = folder_of_layers("gemma3_text", 1);
  alone.dtype = "BF16";
  const double scale = alone.read().embedding_scale;
  CHECK(scale == 3.46875);  // sqrt(12) as a BF16
  for (const std::string prefix : {"language_model.model.", "model.language_model."}) {
    ConfigFolder part = alone;
    part.config = {{"model_type", "gemma3"}, {"text_config", alone.config}};
    for (auto& [name, shape] : part.tensors) name = prefix + name.substr(6);
    CHECK(part.read().embedding_scale == scale);
    part.config["tie_word_embeddings"] = nullptr;
    CHECK(part.read().is_tied);
    part.config["tie_word_embeddings"] = "true";
    check_refusal(part, "'tie_word_embeddings' is \"true\"");
    // Published files leave out what all sizes have in common.
    part.config.erase("tie_word_embeddings");
    for (const char* name : {"vocab_size", "num_attention_heads", "num_key_value_heads"}) {
      part.config["text_config"].erase(name);
    }
    check_refusal(part, "has the shape [7, 12] in place of [262208, 12]");
  }
}

TEST_CASE("decoder spec: a granite without positions is refused") {
  DecoderFile file = llama_file();
  file.architecture = "granite";
  file.set("logit_scale", 8.0);
  CHECK(file.read().layers[0].has_rope);
  file.set("rope.scaling.finetuned", true);
  CHECK(file.read().layers[0].has_rope);
  check_refusal(file.set("rope.scaling.finetuned", false), "leaves out the rotary embedding");
}
