// SPDX-License-Identifier: MIT
#include "hiptool/decoder_spec.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "builders.hpp"
#include "decoder_files.hpp"
#include "hiptool/error.hpp"
#include "refusal.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;
using Json = nlohmann::json;

TEST_CASE("decoder spec: a GGUF of llama") {
  const DecoderSpec spec = llama_file().read();
  CHECK(spec.architecture == "llama");
  CHECK(spec.embedding == 12);
  CHECK(spec.vocabulary == 7);
  CHECK(spec.context_length == 64);
  CHECK(spec.key_length == 4);
  CHECK(spec.value_length == 4);
  CHECK(spec.norm_epsilon == double{1e-5f});
  CHECK(spec.attention_scale == 0.5);
  CHECK(spec.rope.pairs == RopePairs::neighbours);
  CHECK(spec.rope.dimensions == 4);
  CHECK(spec.rope.base == 10000);
  CHECK(spec.rope.scaling == RopeScaling::none);
  CHECK(spec.is_tied);
  CHECK(spec.output.weight == "token_embd.weight");
  REQUIRE(spec.layers.size() == 2);
  const DecoderLayer& layer = spec.layers[1];
  CHECK(layer.heads == 3);
  CHECK(layer.kv_heads == 1);
  CHECK(layer.window == 0);
  CHECK(layer.feed_forward == 20);
  CHECK(layer.down.weight == "blk.1.ffn_down.weight");
  CHECK(layer.down.rows == 12);
  CHECK(layer.down.columns == 20);
  CHECK(layer.q.bias.empty());
  CHECK(layer.q_norm.empty());
}

TEST_CASE("decoder spec: biases, divisors, an output of its own, numbers for each layer") {
  DecoderFile file = llama_file();
  file.tensor("output.weight", {12, 7}).tensor("rope_freqs.weight", {2});
  file.tensor("blk.1.attn_q.bias", {12}).tensor("blk.0.ffn_down.bias", {12});
  file.set("feed_forward_length", {20, 24});
  for (const char* name : {"gate", "up"}) {
    file.tensor("blk.1.ffn_" + std::string(name) + ".weight", {12, 24});
  }
  file.tensor("blk.1.ffn_down.weight", {24, 12});
  file.set("attention.head_count_kv", {1, 3});
  file.tensor("blk.1.attn_k.weight", {12, 12}).tensor("blk.1.attn_v.weight", {12, 12});
  file.set("attention.sliding_window", 9).set("attention.sliding_window_pattern", {true, false});
  file.set("rope.dimension_count", 4).set("rope.freq_base", 5e5);
  const DecoderSpec spec = file.read();
  CHECK_FALSE(spec.is_tied);
  CHECK(spec.output.weight == "output.weight");
  CHECK(spec.rope.divisors_tensor == "rope_freqs.weight");
  CHECK(spec.rope.base == 5e5);
  CHECK(spec.layers[0].q.bias.empty());
  CHECK(spec.layers[1].q.bias == "blk.1.attn_q.bias");
  CHECK(spec.layers[0].down.bias == "blk.0.ffn_down.bias");
  CHECK(spec.layers[1].feed_forward == 24);
  CHECK(spec.layers[1].kv_heads == 3);
  CHECK(spec.layers[0].window == 9);
  CHECK(spec.layers[1].window == 0);
  file.set("attention.sliding_window_pattern", 2);
  CHECK(file.read().layers[1].window == 0);
}

TEST_CASE("decoder spec: scaling of the rotary embedding in a GGUF") {
  CHECK(llama_file().set("rope.scale_linear", 2.0).read().rope.factor == 2);
  const RopeSpec linear = llama_file().set("rope.scaling.factor", 4.0).read().rope;
  CHECK(linear.scaling == RopeScaling::linear);
  CHECK(linear.factor == 4);
  const RopeSpec none =
      llama_file().set("rope.scaling.type", "none").set("rope.scaling.factor", 4.0).read().rope;
  CHECK(none.scaling == RopeScaling::none);
  CHECK(none.factor == 1);
  DecoderFile file = llama_file();
  file.set("rope.scaling.type", "yarn").set("rope.scaling.factor", 4.0);
  file.set("rope.scaling.attn_factor", 0.5).set("rope.scaling.yarn_beta_fast", 16.0);
  const RopeSpec yarn = file.read().rope;
  CHECK(yarn.scaling == RopeScaling::yarn);
  CHECK(yarn.original_context == 64);
  CHECK(yarn.beta_fast == 16);
  CHECK(yarn.attention_factor == doctest::Approx(0.5 * (1 + 0.1 * std::log(4.0))));
  file = llama_file();
  file.set("rope.scaling.type", "longrope").set("rope.scaling.attn_factor", 1.25);
  file.tensor("rope_factors_short.weight", {2}).tensor("rope_factors_long.weight", {2});
  const RopeSpec longrope = file.read().rope;
  CHECK(longrope.attention_factor == 1.25);
  CHECK(longrope.long_divisors_tensor == "rope_factors_long.weight");
}

TEST_CASE("decoder spec: refused GGUF keys are named with their values") {
  check_refusal(llama_file().set("attn_logit_softcapping", 50.0),
                "'llama.attn_logit_softcapping' is 50");
  check_refusal(llama_file().set("logit_scale", 0.5), "'llama.logit_scale' is 0.5");
  check_refusal(llama_file().set("expert_count", 8), "lack 'llama.expert_used_count'");
  check_refusal(llama_file().set("attention.causal", false), "'llama.attention.causal' is false");
  check_refusal(llama_file().set("surprise", "new"), "'llama.surprise' is 'new'", "unknown");
  check_refusal(llama_file().set("rope.scaling.type", "ntk"), "'llama.rope.scaling.type' is 'ntk'");
  check_refusal(llama_file().set("rope.scaling.attn_factor", 2.0), "rope.scaling.attn_factor");
  check_refusal(llama_file().set("rope.freq_base", -1.0), "'llama.rope.freq_base' is -1");
  check_refusal(llama_file().set("rope.dimension_count", 3), "3 elements does not fit");
  check_refusal(llama_file().set("rope.dimension_count", 6), "6 elements does not fit");
  check_refusal(llama_file().set("block_count", 0), "'llama.block_count' is 0");
  check_refusal(llama_file().set("block_count", 70'000), "'llama.block_count' is 70000");
  check_refusal(llama_file().set("embedding_length", "wide"), "'llama.embedding_length' is 'wide'");
  check_refusal(llama_file().set("attention.head_count_kv", 2), "3 heads, which 2");
  check_refusal(llama_file().set("attention.head_count_kv", {1, 1, 1}), "does not fit 2 layers");
  check_refusal(llama_file().set("attention.layer_norm_rms_epsilon", 0.0), "above 0");
  for (const char* key :
       {"block_count", "embedding_length", "attention.head_count", "feed_forward_length",
        "attention.layer_norm_rms_epsilon", "vocab_size"}) {
    check_refusal(llama_file().remove_key(key), "lack 'llama." + std::string(key) + "'");
  }
  CHECK(refusal_of_decoder(llama_file().set("logit_scale", 1.0).set("expert_count", 0)) ==
        "accepted");
  DecoderFile gemma = llama_file();
  gemma.architecture = "gemma4";
  check_refusal(gemma, "'general.architecture' is 'gemma4'");
}

TEST_CASE("decoder spec: tensors must be those of the architecture") {
  check_refusal(llama_file().remove_tensor("blk.1.ffn_up.weight"),
                "'blk.1.ffn_up.weight' is missing");
  check_refusal(llama_file().tensor("blk.0.attn_k.weight", {12, 8}),
                "'blk.0.attn_k.weight' has the shape [12, 8] in place of [12, 4]");
  check_refusal(llama_file().tensor("blk.0.attn_sinks.weight", {3}), "'blk.0.attn_sinks.weight'",
                "no place");
  check_refusal(llama_file().tensor("blk.0.attn_q_norm.weight", {4}), "no place");
  DecoderFile qwen = llama_file();
  qwen.architecture = "qwen2";
  check_refusal(qwen, "'blk.0.attn_q.bias' is missing");
  qwen.architecture = "qwen3";
  check_refusal(qwen, "'blk.0.attn_q_norm.weight' is missing");
  for (const char* layer : {"blk.0.", "blk.1."}) {
    qwen.tensor(std::string(layer) + "attn_q_norm.weight", {4});
    qwen.tensor(std::string(layer) + "attn_k_norm.weight", {4});
  }
  const DecoderSpec spec = qwen.read();
  CHECK(spec.rope.pairs == RopePairs::halves);
  CHECK(spec.layers[1].k_norm == "blk.1.attn_k_norm.weight");
  check_refusal(qwen.tensor("rope_freqs.weight", {2}), "'rope_freqs.weight'", "no place");
}

TEST_CASE("decoder spec: a config.json") {
  const DecoderSpec spec = ConfigFolder().read();
  CHECK(spec.rope.pairs == RopePairs::halves);
  CHECK(spec.key_length == 4);
  CHECK(spec.is_tied);
  CHECK(spec.norm_epsilon == 1e-5);
  CHECK(spec.layers[0].attention_output.weight == "model.layers.0.self_attn.o_proj.weight");
  CHECK(spec.layers[0].gate.rows == 20);
  ConfigFolder copies;
  copies.tensors.emplace_back("lm_head.weight", std::vector<std::uint64_t>{7, 12});
  copies.tensors.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq",
                              std::vector<std::uint64_t>{2});
  // As transformers 5 does, since its values may be others than the embedding's.
  CHECK(copies.config["tie_word_embeddings"] == true);
  CHECK(copies.read().output.weight == "lm_head.weight");
  CHECK_FALSE(copies.read().is_tied);
  copies.config["tie_word_embeddings"] = false;
  CHECK(copies.read().output.weight == "lm_head.weight");
  CHECK(config_with("pretraining_tp", 1).read().layers.size() == 1);
  CHECK(config_with("quantization_config", nullptr).read().layers.size() == 1);
  CHECK(config_with("pruned_heads", Json::object()).read().layers.size() == 1);
}

TEST_CASE("decoder spec: rotary embeddings of a config.json, old and new") {
  ConfigFolder old = config_with("rope_theta", 5e5);
  old.config["rope_scaling"] = {{"rope_type", "llama3"},
                                {"factor", 32.0},
                                {"low_freq_factor", 1.0},
                                {"high_freq_factor", 4.0},
                                {"original_max_position_embeddings", 8192}};
  const RopeSpec llama3 = old.read().rope;
  CHECK(llama3.scaling == RopeScaling::llama3);
  CHECK(llama3.base == 5e5);
  CHECK(llama3.factor == 32);
  CHECK(llama3.original_context == 8192);
  const RopeSpec yarn = config_with("rope_parameters", {{"rope_theta", 1e6},
                                                        {"rope_type", "yarn"},
                                                        {"factor", 4},
                                                        {"mscale", 1.0},
                                                        {"mscale_all_dim", 0.5},
                                                        {"truncate", false}})
                            .read()
                            .rope;
  CHECK(yarn.base == 1e6);
  CHECK_FALSE(yarn.truncates);
  CHECK(yarn.original_context == 64);
  CHECK(yarn.attention_factor ==
        doctest::Approx((1 + 0.1 * std::log(4.0)) / (1 + 0.05 * std::log(4.0))));
  ConfigFolder longrope = config_with("original_max_position_embeddings", 16);
  longrope.config["rope_scaling"] = {
      {"type", "longrope"}, {"short_factor", {1, 2}}, {"long_factor", {3.5, 4}}};
  const RopeSpec found = longrope.read().rope;
  CHECK(found.original_context == 16);
  CHECK(found.long_divisors == std::vector<double>{3.5, 4});
  CHECK(found.attention_factor == doctest::Approx(std::sqrt(1.5)));
  CHECK(config_with("rope_scaling", {{"type", "linear"}, {"factor", 2.0}}).read().rope.factor == 2);
  const RopeSpec dynamic =
      config_with("rope_scaling", {{"type", "dynamic"}, {"factor", 2.0}}).read().rope;
  CHECK(dynamic.scaling == RopeScaling::dynamic);
  CHECK(dynamic.original_context == 64);
  CHECK(to_string(dynamic.scaling) == "dynamic");
}

TEST_CASE("decoder spec: windows of a config.json") {
  ConfigFolder mistral = config_with("model_type", "mistral");
  mistral.config["sliding_window"] = 9;
  CHECK(mistral.read().layers[0].window == 9);
  mistral.config["sliding_window"] = nullptr;
  CHECK(mistral.read().layers[0].window == 0);
  check_refusal(config_with("sliding_window", 9), "'sliding_window' is 9");
  ConfigFolder qwen = config_with("model_type", "qwen2");
  for (const auto& [name, rows] : {std::pair{"q", 12u}, std::pair{"k", 4u}, std::pair{"v", 4u}}) {
    qwen.tensors.emplace_back("model.layers.0.self_attn." + std::string(name) + "_proj.bias",
                              std::vector<std::uint64_t>{rows});
  }
  qwen.config["sliding_window"] = 9;
  qwen.config["use_sliding_window"] = false;
  CHECK(qwen.read().layers[0].window == 0);
  qwen.config["use_sliding_window"] = true;
  CHECK(qwen.read().layers[0].window == 0);  // below max_window_layers
  qwen.config["max_window_layers"] = 0;
  CHECK(qwen.read().layers[0].window == 9);
  qwen.config["layer_types"] = {"full_attention"};
  CHECK(qwen.read().layers[0].window == 0);
  qwen.config["layer_types"] = {"linear_attention"};
  check_refusal(qwen, "layer_types", "linear_attention");
}

TEST_CASE("decoder spec: refused members of a config.json are named with their values") {
  check_refusal(config_with("model_type", "cohere"), "'model_type' is \"cohere\"");
  check_refusal(config_with("hidden_act", "gelu"), "'hidden_act' is \"gelu\"");
  check_refusal(config_with("final_logit_softcapping", 30.0), "'final_logit_softcapping' is 30");
  check_refusal(config_with("quantization_config", {{"quant_method", "gptq"}}),
                "'quantization_config'", "gptq");
  check_refusal(config_with("partial_rotary_factor", 0.5), "'partial_rotary_factor' is 0.5");
  check_refusal(config_with("num_hidden_layers", -1), "'num_hidden_layers' is -1");
  check_refusal(config_with("num_hidden_layers", 1.5), "'num_hidden_layers' is 1.5");
  check_refusal(config_with("vocab_size", nullptr), "'vocab_size' is null");
  check_refusal(config_with("rms_norm_eps", "small"), "'rms_norm_eps' is \"small\"");
  check_refusal(config_with("tie_word_embeddings", 1), "'tie_word_embeddings' is 1");
  check_refusal(config_with("tie_word_embeddings", false), "'lm_head.weight' is missing");
  check_refusal(config_with("attention_bias", true),
                "'model.layers.0.self_attn.q_proj.bias' is missing");
  check_refusal(config_with("mlp_bias", true), "'model.layers.0.mlp.gate_proj.bias' is missing");
  check_refusal(config_with("rope_scaling", {{"type", "ntk"}, {"factor", 2.0}}),
                "'rope_scaling.type' is \"ntk\"");
  check_refusal(config_with("rope_scaling", {{"type", "dynamic"}}), "'rope_scaling.factor'");
  check_refusal(config_with("rope_scaling", {{"type", "linear"}}),
                "'rope_scaling.factor' is absent");
  check_refusal(config_with("rope_scaling", {{"type", "linear"}, {"factor", 2.0}, {"twist", 3}}),
                "'rope_scaling.twist' is 3");
  check_refusal(config_with("rope_scaling", {{"type", "longrope"}, {"short_factor", {1}}}),
                "'rope_scaling.short_factor' is [1]", "2 numbers");
  const TemporaryFolder folder;
  write_file(folder / "model.safetensors",
             safetensors(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  const ModelFile alone = ModelFile::open(folder / "model.safetensors");
  CHECK(code_of([&] { static_cast<void>(DecoderSpec::read(alone)); }) == ErrorCode::input_failed);
}
