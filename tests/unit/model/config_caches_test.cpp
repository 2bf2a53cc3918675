// SPDX-License-Identifier: MIT
/// What config.json says of the cache by names, defaults and objects of its own; shapes of public
/// models.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "builders.hpp"
#include "hiptool/model_summary.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

ModelSummary summary_of(std::string_view config, const char* name = "config.json") {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, std::string_view bytes) {
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
  };
  write("model.safetensors",
        safetensors(R"({"t":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}})", 12));
  write(name, config);
  return summarize(ModelFile::open(folder.path() / "model.safetensors"));
}

/// Elements of the keys and values of a token in all layers, those of an indexer with them.
std::uint64_t elements_of(const ModelSummary& summary) {
  std::uint64_t elements = 0;
  for (const LayerCache& cache : summary.caches) {
    elements += cache.heads * (cache.key_length + cache.value_length) + cache.indexer_length;
  }
  return elements;
}

/// Of a model whose cache must be known.
std::uint64_t known_elements_of(std::string_view config) {
  const ModelSummary summary = summary_of(config);
  CHECK_FALSE(summary.cache_is_bound);
  CHECK(summary.missing_keys.empty());
  return elements_of(summary);
}

std::uint64_t windows_of(const ModelSummary& summary) {
  std::uint64_t layers = 0;
  for (const LayerCache& cache : summary.caches) layers += cache.window_tokens > 0 ? 1 : 0;
  return layers;
}

}  // namespace

TEST_CASE("config caches: lengths of 0 say that attention is not latent") {
  // huggingface.co/deepseek-ai/DeepSeek-OCR: heads of 1280 / 10; its language part names no type.
  const std::string shape = R"("hidden_size": 1280, "num_attention_heads": 10,
      "num_hidden_layers": 12, "num_key_value_heads": 10, "kv_lora_rank": null,
      "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "v_head_dim": 0, "use_mla": false)";
  CHECK(known_elements_of(R"({"model_type": "deepseek_vl_v2", "language_config": {)" + shape +
                          "}}") == 12 * 10 * 128 * 2);
  CHECK(known_elements_of(R"({"model_type": "deepseek_v2", )" + shape + "}") == 12 * 10 * 128 * 2);
  // Ranks may be left in.
  CHECK(known_elements_of(R"({"model_type": "deepseek_v2", "hidden_size": 1280,
      "num_attention_heads": 10, "num_hidden_layers": 12, "kv_lora_rank": 512,
      "qk_rope_head_dim": 64, "use_mla": false})") == 12 * 10 * 128 * 2);
}

TEST_CASE("config caches: DeciLM and OpenELM name the heads of each layer") {
  CHECK(known_elements_of(R"({"model_type": "deci", "hidden_size": 4096, "num_hidden_layers": 4,
      "num_attention_heads": 32, "num_key_value_heads_per_layer": [4, 4, 1, 2]})") == 11 * 128 * 2);
  const ModelSummary openelm = summary_of(R"({"model_type": "openelm", "model_dim": 2048,
      "num_transformer_layers": 3, "head_dim": 64, "num_kv_heads": [4, 4, 5],
      "num_query_heads": [16, 16, 20], "max_context_length": 2048})");
  CHECK(elements_of(openelm) == 13 * 64 * 2);
  CHECK(openelm.context_length == 2048);
  CHECK(openelm.embedding_length == 2048);
  // BLOOM's 176B.
  CHECK(known_elements_of(R"({"model_type": "bloom", "n_embed": 14336, "n_layer": 70,
      "num_attention_heads": 112})") == 70 * 14336 * 2);
}

TEST_CASE("config caches: a language part leaves out what equals the defaults") {
  // huggingface.co/llava-hf/llava-1.5-7b-hf, llava-v1.6-mistral-7b-hf, mistral-community/pixtral.
  CHECK(known_elements_of(R"({"model_type": "llava", "text_config": {"model_type": "llama",
      "max_position_embeddings": 4096}})") == 32 * 4096 * 2);
  CHECK(known_elements_of(R"({"model_type": "llava_next", "text_config": {"model_type": "mistral",
      "num_key_value_heads": 8, "sliding_window": null}})") == 32 * 8 * 128 * 2);
  CHECK(known_elements_of(R"({"model_type": "llava", "text_config": {"model_type": "mistral",
      "hidden_size": 5120, "head_dim": 128, "num_hidden_layers": 40}})") == 40 * 8 * 128 * 2);
  // PaliGemma 2: heads of 256, not of 2304 / 8.
  CHECK(known_elements_of(R"({"model_type": "paligemma", "text_config": {"model_type": "gemma2",
      "num_hidden_layers": 26, "num_key_value_heads": 4}})") == 26 * 4 * 256 * 2);
  // A whole config that lacks a number is not complete.
  const ModelSummary damaged = summary_of(R"({"model_type": "llama", "hidden_size": 4096})");
  CHECK(damaged.missing_keys.size() == 2);
}

TEST_CASE("config caches: params.json of Mistral stands in for a config.json") {
  // huggingface.co/mistralai/Mistral-Small-24B-Instruct-2501.
  const ModelSummary summary = summary_of(R"({"dim": 5120, "n_layers": 40, "head_dim": 128,
      "hidden_dim": 32768, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 131072,
      "max_position_embeddings": 32768})",
                                          "params.json");
  CHECK_FALSE(summary.cache_is_bound);
  CHECK(elements_of(summary) == 40 * 8 * 128 * 2);
  CHECK(summary.context_length == 32'768);
  CHECK(summary.feed_forward_length.at(0) == 32'768);
  // Mistral Large 3 has latent attention.
  const ModelSummary large = summary_of(R"({"dim": 7168, "n_layers": 61, "n_heads": 128,
      "n_kv_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
      "v_head_dim": 128})",
                                        "params.json");
  CHECK_FALSE(large.cache_is_bound);
  CHECK(elements_of(large) == 61 * 576);
}

TEST_CASE("config caches: lengths of heads that a class states") {
  // Qwen3 0.6B and gpt-oss 20B: not the embedding divided by the heads.
  CHECK(known_elements_of(R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28,
      "num_attention_heads": 16, "num_key_value_heads": 8})") == 28 * 8 * 128 * 2);
  CHECK(known_elements_of(R"({"model_type": "gpt_oss", "hidden_size": 2880,
      "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8})") ==
        24 * 8 * 64 * 2);
  // Zamba 2 1.2B: the embedding is next to the input.
  CHECK(known_elements_of(R"({"model_type": "zamba2", "hidden_size": 2048,
      "num_hidden_layers": 3, "num_attention_heads": 32, "mamba_d_state": 128, "mamba_d_conv": 4,
      "mamba_expand": 2, "layers_block_type": ["linear_attention", "hybrid", "mamba"]})") ==
        32 * 128 * 2);
}

TEST_CASE("config caches: Gemma 4 as transformers 5.15 writes it") {
  // Gemma 4 26B A4B: the layers without a window have heads of 512, and two of them.
  const std::string shape = R"({"model_type": "gemma4", "text_config": {
      "model_type": "gemma4_text", "num_hidden_layers": 6, "num_attention_heads": 16,
      "num_key_value_heads": 8, "head_dim": 256, "sliding_window": 1024, )";
  constexpr std::uint64_t wanted = 5 * 8 * 256 * 2 + 2 * 512 * 2;
  const std::string types = R"("layer_types": ["sliding_attention", "sliding_attention",
      "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"])";
  CHECK(known_elements_of(shape + R"("per_layer_config": {"05": {"head_dim": 512,
      "num_key_value_heads": 2}}}})") == wanted);
  CHECK(known_elements_of(shape + types + R"(, "global_head_dim": 512,
      "num_global_key_value_heads": 2, "attention_k_eq_v": true}})") == wanted);
  // Both may be left out: 512 is the default, and the number of heads holds for all.
  constexpr std::uint64_t wanted_of_default = 5 * 8 * 256 * 2 + 8 * 512 * 2;
  CHECK(known_elements_of(shape + types + "}}") == wanted_of_default);
  CHECK(known_elements_of(shape + types + R"(, "num_global_key_value_heads": 2,
      "attention_k_eq_v": false}})") == wanted_of_default);
  // What no layer has is passed over.
  CHECK(known_elements_of(shape + R"("per_layer_config": {"6": {"head_dim": 1}, "x": {},
      "05": {"head_dim": 512, "num_key_value_heads": 2}, "1": 7, "2": {"head_dim": -1}}}})") ==
        wanted);
}

TEST_CASE("config caches: windows that equal the default are left out too") {
  // Gemma 4 E4B has 512 tokens.
  const ModelSummary summary = summary_of(R"({"model_type": "gemma4", "text_config": {
      "model_type": "gemma4_text", "num_hidden_layers": 6}})");
  CHECK(windows_of(summary) == 5);
  CHECK(summary.caches[0].window_tokens == 512);
}

TEST_CASE("config caches: a bound counts the indexer of an unknown architecture") {
  // MiniMax M3: an indexer with keys of 128, and values next to them.
  const ModelSummary summary = summary_of(R"({"model_type": "brand_new", "num_hidden_layers": 2,
      "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
      "sparse_attention_config": {"sparse_index_dim": 128}})");
  CHECK(summary.cache_is_bound);
  CHECK(elements_of(summary) == 2 * (4 * 128 * 2 + 2 * 128));
  CHECK(summary.least_caches[0].indexer_length == 0);
}

TEST_CASE("config caches: layers with an indexer by a list, a pattern or a frequency") {
  // GLM-5.2 has 21 of 78 (github.com/sgl-project/sglang/pull/30531); transformers derives its list
  // from the frequency (configuration_glm_moe_dsa.py).
  const auto indexers_of = [](int layers, const std::string& more) {
    const ModelSummary summary = summary_of(
        R"({"model_type": "glm_moe_dsa", "num_attention_heads": 64, "kv_lora_rank": 512,
        "qk_rope_head_dim": 64, "index_head_dim": 128, "num_hidden_layers": )" +
        std::to_string(layers) + more + "}");
    CHECK_FALSE(summary.cache_is_bound);
    std::string pattern;
    for (const LayerCache& cache : summary.caches) pattern += cache.indexer_length > 0 ? 'F' : 'S';
    return pattern;
  };
  const std::string frequent = R"(, "index_topk_freq": 4, "index_skip_topk_offset": 3)";
  CHECK(indexers_of(12, frequent) == "FFFSSSFSSSFS");
  const std::string many = indexers_of(78, frequent);
  CHECK(std::count(many.begin(), many.end(), 'F') == 21);
  CHECK(indexers_of(5, R"(, "index_topk_freq": 4)") == "FFSSS");
  CHECK(indexers_of(4, R"(, "index_topk_freq": 1, "max_position_embeddings": 1048576)") == "FFFF");
  CHECK(indexers_of(4, R"(, "index_topk_freq": 0)") == "FFFF");
  CHECK(indexers_of(4, R"(, "index_topk_pattern": "FSFS", "index_topk_freq": 4)") == "FSFS");
  CHECK(indexers_of(3, R"(, "indexer_types": ["full", "shared", "full"], "index_topk_freq": 1)") ==
        "FSF");
}

TEST_CASE("config caches: states of Gated DeltaNet by default") {
  // Qwen3.5 9B: 24 of 32 layers, 32 heads of values and 16 of keys of 128 elements, four taps.
  const ModelSummary summary =
      summary_of(R"({"model_type": "qwen3_5", "text_config": {"model_type": "qwen3_5_text"}})");
  CHECK(elements_of(summary) == 8 * 4 * 256 * 2);
  CHECK(summary.caches[0].state_bytes == 4 * (3 * (32 + 2 * 16) * 128 + 32 * 128 * 128));
  CHECK(summary.caches[3].state_bytes == 0);
  // A whole config states them all.
  const ModelSummary damaged = summary_of(R"({"model_type": "qwen3_next", "num_hidden_layers": 4,
      "num_attention_heads": 16, "head_dim": 256})");
  CHECK(damaged.missing_state_keys.size() == 1);
}

TEST_CASE("config caches: a decoder next to an encoder") {
  // T5Gemma.
  const ModelSummary summary =
      summary_of(R"({"model_type": "t5gemma", "encoder": {"hidden_size": 1},
      "decoder": {"model_type": "t5_gemma_module", "num_hidden_layers": 2, "num_attention_heads": 8,
                  "num_key_value_heads": 4, "head_dim": 256}})");
  CHECK(summary.cache_is_bound);
  CHECK(elements_of(summary) == 2 * 4 * 256 * 2);
}

TEST_CASE("config caches: an unknown hybrid may have as many states as layers, or no tokens") {
  // Phi-4-mini-flash: Mamba in every other layer, and layers that share one cache.
  const ModelSummary summary = summary_of(R"({"model_type": "brand_new", "num_hidden_layers": 2,
      "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "mamba_d_state": 16,
      "mamba_d_conv": 4, "mamba_expand": 2})");
  REQUIRE(summary.cache_is_bound);
  CHECK(elements_of(summary) == 2 * 2 * 16 * 2);
  CHECK(summary.caches[1].state_bytes == 4 * (3 * 128 + 128 * 16));
  CHECK(summary.least_caches[1].heads == 0);
  CHECK(summary.least_caches[1].state_bytes == 0);
  // Where the metadata lists the layers, both ends follow it.
  const ModelSummary listed = summary_of(R"({"model_type": "brand_new", "num_hidden_layers": 2,
      "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "mamba_d_state": 16,
      "mamba_d_conv": 4, "mamba_expand": 2, "layer_types": ["mamba", "full_attention"]})");
  CHECK(listed.least_caches[0].state_bytes == 4 * (3 * 128 + 128 * 16));
  CHECK(listed.least_caches[1].heads == 2);
}

TEST_CASE("config caches: cross-layer attention of Hunyuan") {
  // github.com/vllm-project/vllm, models/hunyuan_v1.py: each layer_id % cla_share_factor attends.
  const auto shape = [](const char* more) {
    return R"({"model_type": "hunyuan_v1_moe", "num_hidden_layers": 4, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, )" +
           std::string(more) + "}";
  };
  const ModelSummary shared = summary_of(shape(R"("use_cla": true, "cla_share_factor": 2)"));
  CHECK(shared.cache_is_bound);
  CHECK(elements_of(shared) == 4 * 8 * 128 * 2);
  CHECK(shared.least_caches[1].heads == 0);
  CHECK(shared.least_caches[2].heads == 8);
  // Hunyuan A13B has the factor, but does not use it.
  CHECK(known_elements_of(shape(R"("use_cla": false, "cla_share_factor": 2)")) == 4 * 8 * 128 * 2);
}

TEST_CASE("config caches: an unknown hybrid may keep nothing, whatever its keys are called") {
  // RecurrentGemma as transformers writes it: its list and its states have names of their own.
  const ModelSummary summary = summary_of(R"({"model_type": "brand_new", "num_hidden_layers": 3,
      "num_attention_heads": 10, "num_key_value_heads": 1, "head_dim": 256, "lru_width": 2560,
      "block_kinds": ["recurrent", "recurrent", "attention"]})");
  REQUIRE(summary.cache_is_bound);
  CHECK(elements_of(summary) == 3 * 256 * 2);
  for (const LayerCache& least : summary.least_caches) CHECK(least.heads == 0);
  // A list whose words are not known.
  const ModelSummary listed = summary_of(R"({"model_type": "brand_new", "num_hidden_layers": 3,
      "num_attention_heads": 10, "num_key_value_heads": 1, "head_dim": 256,
      "layer_types": ["full_attention", "lightning_attention", "full_attention"]})");
  CHECK(elements_of(listed) == 3 * 256 * 2);
  CHECK(listed.least_caches[0].heads == 1);
  CHECK(listed.least_caches[1].heads == 0);
}

TEST_CASE("config caches: layers that attend twice") {
  // huggingface.co/meituan-longcat/LongCat-Flash-Chat: 28 layers, and 56 caches in transformers.
  const char* shape = R"("model_type": "longcat_flash", "num_layers": 28, "kv_lora_rank": 512,
      "num_attention_heads": 64, "qk_rope_head_dim": 64)";
  CHECK(summary_of("{" + std::string(shape) + "}").caches.size() == 56);
  CHECK(summary_of("{" + std::string(shape) + R"(, "num_hidden_layers": 56})").caches.size() == 56);
  CHECK(summary_of(R"({"model_type": "longcat_flash", "num_layers": 65536})").layers == 65'536);
  CHECK_FALSE(summary_of(R"({"model_type": "longcat_flash"})").layers.has_value());
}

TEST_CASE("config caches: a list of more layers than a model can have counts none") {
  std::string list = "[\"mamba\"";
  for (int layer = 0; layer < 65'536; ++layer) list += ",\"mamba\"";
  CHECK_FALSE(summary_of(R"({"model_type": "nemotron_h", "layers_block_type": )" + list + "]}")
                  .layers.has_value());
  CHECK(summary_of(R"({"model_type": "nemotron_h", "layers_block_type": ["mamba"]})").layers == 1);
}

TEST_CASE("config caches: mamba_ssm's own configuration") {
  // huggingface.co/state-spaces/mamba-2.8b and mamba2-2.7b; github.com/state-spaces/mamba,
  // modules/mamba_simple.py and mamba2.py have the defaults.
  const ModelSummary first = summary_of(R"({"d_model": 2560, "n_layer": 64, "vocab_size": 50277,
      "ssm_cfg": {}, "rms_norm": true})");
  CHECK(first.architecture == "mamba");
  CHECK_FALSE(first.cache_is_bound);
  CHECK(elements_of(first) == 0);
  CHECK(first.missing_state_keys.empty());
  REQUIRE(first.caches.size() == 64);
  CHECK(first.caches[0].state_bytes == 4 * (3 * 5120 + 5120 * 16));
  const ModelSummary second = summary_of(R"({"d_model": 2560, "d_intermediate": 0, "n_layer": 64,
      "ssm_cfg": {"layer": "Mamba2"}, "attn_layer_idx": [], "attn_cfg": {}})");
  CHECK(second.architecture == "mamba2");
  REQUIRE(second.caches.size() == 64);
  CHECK(second.caches[0].state_bytes == 4 * (3 * (5120 + 2 * 128) + 5120 * 128));
  // huggingface.co/state-spaces/mamba2attn-2.7b
  const ModelSummary attends = summary_of(R"({"d_model": 2560, "n_layer": 64,
      "ssm_cfg": {"layer": "Mamba2"}, "attn_layer_idx": [9, 18, 27, 36, 45, 56],
      "attn_cfg": {"causal": true, "d_conv": 4, "head_dim": 128, "num_heads": 30}})");
  CHECK(attends.cache_is_bound);
  CHECK(elements_of(attends) == 6 * 30 * 128 * 2);
  CHECK(attends.caches[0].state_bytes == second.caches[0].state_bytes);
  // Mamba 3 and others are not read so.
  CHECK_FALSE(summary_of(R"({"d_model": 64, "n_layer": 2, "ssm_cfg": {"layer": "Mamba3"}})")
                  .missing_keys.empty());
  CHECK_FALSE(summary_of(R"({"d_model": 64, "n_layer": 2, "ssm_cfg": 5})").missing_keys.empty());
}

TEST_CASE("config caches: a bound has keys and values of each run through the layers") {
  const auto most_of = [](const std::string& fields) {
    const ModelSummary summary = summary_of("{" + fields + "}");
    CHECK(summary.cache_is_bound);
    return elements_of(summary);
  };
  // huggingface.co/ByteDance/Ouro-2.6B: 48 layers, four steps, a cache of each
  // (UniversalTransformer Cache in its modeling_ouro.py).
  const std::string ouro = R"("model_type": "ouro", "hidden_size": 2048, "num_hidden_layers": 48,
      "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 128)";
  CHECK(most_of(ouro + R"(, "total_ut_steps": 4)") == 4 * 48 * 16 * 128 * 2);
  CHECK(most_of(ouro) == 48 * 16 * 128 * 2);
  // configuration_dory.py and modeling_dory.py of transformers 5.24: each layer is two entries.
  const std::string dory = R"("model_type": "dory", "num_hidden_layers": 8, "n_input_layers": 2,
      "n_recurrent_layers": 4, "n_output_layers": 2, "n_recurrent_loops": 3,
      "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 256, "layer_types":
      ["sliding_attention", "mlp", "sliding_attention", "mlp", "sliding_attention", "mlp",
       "full_attention", "mlp"])";
  CHECK(most_of(dory) == (1 + 3 * 2 + 1) * 4 * 256 * 2);
  CHECK(most_of(dory + R"(, "recurrent_kv_cache_mode": "last_loop")") == 4 * 4 * 256 * 2);
  // inkling2_loop: layers 6 to 17 of 24, three times.
  CHECK(most_of(R"("text_config": {"model_type": "inkling2_loop_text", "num_hidden_layers": 24,
      "loop_gate_rank": 64, "loop_layer_index_start": 6, "loop_layer_index_end": 18,
      "loop_num_passes": 3, "num_attention_heads": 24, "num_key_value_heads": 8,
      "head_dim": 128})") == (24 + 2 * 12) * 8 * 128 * 2);
  // huggingface.co/tomg-group-umd/huginn-0125, whose effective_expected_depth is 132.
  CHECK(most_of(R"("model_type": "huginn_raven", "n_embd": 5280, "n_heads": 55, "n_layers": 8,
      "n_layers_in_prelude": 2, "n_layers_in_recurrent_block": 4, "n_layers_in_coda": 2,
      "mean_recurrence": 32, "mean_backprop_depth": 8)") == 132 * 55 * 96 * 2);
  // configuration_hrm_text.py: 2 x (3 + 1) runs, which a saved num_hidden_layers counts.
  const std::string hrm = R"("model_type": "hrm_text", "num_attention_heads": 12, "head_dim": 128,
      "H_cycles": 2, "L_cycles": 3, "num_hidden_layers": )";
  CHECK(most_of(hrm + "16") == 128 * 12 * 128 * 2);
  CHECK(most_of(hrm + R"(128, "num_layers_per_stack": 16)") == 128 * 12 * 128 * 2);
  // A name that nobody has used yet, and numbers that say nothing.
  const std::string new_one = R"("model_type": "brand_new", "num_hidden_layers": 2,
      "num_attention_heads": 4, "head_dim": 8)";
  CHECK(most_of(new_one + R"(, "num_loops": 5)") == 5 * 2 * 4 * 8 * 2);
  // A usual and a largest number are of one loop; of an outer and an inner one both count.
  CHECK(most_of(new_one + R"(, "num_loops": 4, "max_loops": 12)") == 12 * 2 * 4 * 8 * 2);
  CHECK(most_of(new_one + R"(, "mean_recurrence": 5, "max_recurrences": 3, "num_recur": 4)") ==
        5 * 2 * 4 * 8 * 2);
  CHECK(most_of(new_one + R"(, "num_outer_loops": 3, "num_inner_loops": 4)") == 12 * 2 * 4 * 8 * 2);
  for (const char* harmless :
       {R"(, "num_loops": 1)", R"(, "num_loops": 0)", R"(, "num_loops": null)",
        R"(, "num_loops": [3])", R"(, "loop_window_size": 64)", R"(, "n_layers": 3)",
        R"(, "no_repeat_ngram_size": 3)", R"(, "num_loops": 1000000)"}) {
    CAPTURE(harmless);
    CHECK(most_of(new_one + harmless) == 2 * 4 * 8 * 2);
  }
}

TEST_CASE("config caches: runs of layers whose architecture is known otherwise") {
  const ModelSummary summary = summary_of(R"({"model_type": "qwen3", "hidden_size": 1024,
      "num_hidden_layers": 2, "num_attention_heads": 16, "num_key_value_heads": 8,
      "total_ut_steps": 4})");
  CHECK(summary.cache_is_bound);
  CHECK(elements_of(summary) == 4 * 2 * 8 * 128 * 2);
  CHECK(summary.least_caches[1].heads == 8);
  CHECK(summary.kv_heads[1] == 8);
}

TEST_CASE("config caches: a bound has keys and values of an encoder's output") {
  for (const char* flag : {"is_encoder_decoder", "add_cross_attention"}) {
    const ModelSummary summary = summary_of(R"({"model_type": "t5gemma", "decoder": {
        "model_type": "t5_gemma_module", "num_hidden_layers": 2, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256}, ")" +
                                            std::string(flag) + R"(": true})");
    CHECK(summary.cache_is_bound);
    CHECK(elements_of(summary) == 2 * 2 * 4 * 256 * 2);
    CHECK(summary.least_caches[0].heads == 0);
  }
}

TEST_CASE("config caches: a bound takes the larger heads of layers with a window and of others") {
  const auto shape = [](std::string_view more) {
    return R"({"model_type": "brand_new", "num_hidden_layers": 2, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "sliding_window_size": 512, )" +
           std::string(more) + "}";
  };
  // Inkling (transformers 5.24): 16 heads in layers with a window, whose kind has a new name.
  const std::string_view types = R"("layer_types": ["hybrid_sliding", "full_attention"])";
  const std::string wide = R"("swa_num_key_value_heads": 16, "swa_head_dim": 64)";
  ModelSummary summary = summary_of(shape(wide));
  CHECK(summary.cache_is_bound);
  CHECK(elements_of(summary) == 2 * 16 * 128 * 2);
  CHECK(summary.least_caches[0].heads == 0);
  summary = summary_of(shape(wide + ", " + std::string(types)));
  CHECK(elements_of(summary) == 16 * 128 * 2 + 8 * 128 * 2);
  CHECK(summary.least_caches[1].heads == 8);
  // What is known to have a window: 16 x 64 at least.
  summary = summary_of(shape(wide + R"(, "layer_types": ["sliding_attention", "full_attention"])"));
  CHECK(elements_of(summary) == 2 * (16 + 8) * 128);
  CHECK(summary.least_caches[0].heads == 8);
  CHECK(summary.least_caches[0].key_length == 64);
  summary = summary_of(shape(R"("swa_num_key_value_heads": 2, "swa_head_dim": 256)"));
  CHECK(elements_of(summary) == 2 * 8 * 256 * 2);
  // The others may be the larger ones, and an indexer has a second name (Qwen 4).
  CHECK(elements_of(summary_of(shape(R"("num_global_key_value_heads": 32)"))) == 2 * 32 * 128 * 2);
  CHECK(elements_of(summary_of(shape(R"("indexer_head_dim": 64)"))) == 2 * (8 * 128 * 2 + 2 * 64));
}

TEST_CASE("config caches: heads of layers with a window in an object of Step 3.5") {
  const ModelSummary summary = summary_of(R"({"model_type": "step3p5", "num_hidden_layers": 2,
      "num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128, "sliding_window": 512,
      "layer_types": ["full_attention", "sliding_attention"], "attention_other_setting":
      {"attention_type": "sliding_attention", "num_attention_heads": 96,
       "num_attention_groups": 12, "head_dim": 64}})");
  CHECK_FALSE(summary.cache_is_bound);
  CHECK(elements_of(summary) == 2 * 8 * 128 + 2 * 12 * 64);
}

TEST_CASE("config caches: MiMo V2 Flash as its publisher and as transformers 5 write it") {
  // Keys of 192 and values of 128 elements; four heads, and eight in layers with a window.
  const std::string shape = R"({"model_type": "mimo_v2_flash", "num_hidden_layers": 3,
      "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128)";
  constexpr std::uint64_t wanted = (4 + 2 * 8) * (192 + 128);
  CHECK(known_elements_of(shape + R"(, "sliding_window": 129, "layer_types":
      ["full_attention", "sliding_attention", "sliding_attention"]})") == wanted);
  CHECK(known_elements_of(shape + R"(, "sliding_window_size": 128, "swa_num_key_value_heads": 8,
      "swa_head_dim": 192, "swa_v_head_dim": 128, "hybrid_layer_pattern": [0, 1, 1]})") == wanted);
  // Without a window no layer is doubled.
  CHECK(known_elements_of(shape + "}") == 3 * 4 * (192 + 128));
}

TEST_CASE("config caches: states of Kimi Delta Attention under three kinds of names") {
  // 3 x 3 taps of 32 x 128 channels, and 32 x 128 x 128 elements.
  constexpr std::uint64_t wanted = 4 * (3 * 3 * 32 * 128 + 32 * 128 * 128);
  const std::string shape = R"({"num_hidden_layers": 2, "num_attention_heads": 32,
      "kv_lora_rank": 512, "qk_rope_head_dim": 64, "model_type": )";
  const std::string types = R"("layer_types": ["linear_attention", "full_attention"])";
  for (const std::string& config :
       {shape + R"("kimi_linear", "linear_attn_config": {"full_attn_layers": [2],
            "kda_layers": [1], "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4}})",
        shape + R"("kimi_linear", "linear_num_heads": 32, "linear_head_dim": 128,
            "linear_conv_kernel_dim": 4, )" +
            types + "}",
        shape + R"("bailing_hybrid", "head_dim": 128, "short_conv_kernel_size": 4, )" + types +
            "}"}) {
    CAPTURE(config);
    const ModelSummary summary = summary_of(config);
    CHECK(summary.missing_state_keys.empty());
    REQUIRE(summary.caches.size() == 2);
    CHECK(summary.caches[0].state_bytes == wanted);
    CHECK(summary.caches[1].state_bytes == 0);
    CHECK(elements_of(summary) >= 576);
  }
}

TEST_CASE("config caches: a decoder that has the layers of an encoder keeps its tokens") {
  // TrOCR's and others' VisionEncoderDecoder: modeling_roberta.py of transformers keeps the keys
  // and values of each layer, and of what it reads.
  const std::string roberta = R"("model_type": "roberta", "hidden_size": 768,
      "num_hidden_layers": 12, "num_attention_heads": 12)";
  const ModelSummary summary = summary_of(R"({"model_type": "vision-encoder-decoder",
      "encoder": {"model_type": "vit"}, "decoder": {"is_decoder": true, )" +
                                          roberta + "}}");
  CHECK(summary.cache_is_bound);
  CHECK(elements_of(summary) == 12 * 768 * 2);
  CHECK(elements_of(summary_of(R"({"is_decoder": true, "add_cross_attention": true, )" + roberta +
                               "}")) == 2 * 12 * 768 * 2);
  CHECK(known_elements_of(R"({"is_decoder": false, )" + roberta + "}") == 0);
  // Without heads there is no size of a decoder.
  CHECK(summary_of(R"({"model_type": "bert", "is_decoder": true, "num_hidden_layers": 2})")
            .missing_keys.size() == 1);
}
