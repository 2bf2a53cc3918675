// SPDX-License-Identifier: MIT
/// Which layers keep what, with shapes of public models; the sizes are in tests/cli/kv_cache_test.
#include "model/layer_caches.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "model/cache_rules.hpp"
#include "sanitized.hpp"

using namespace hiptool;
using namespace hiptool::model;

namespace {

constexpr double state_mib = 1u << 20;

ModelSummary summary_of_shape(const std::string& architecture, std::size_t layers,
                              std::uint64_t kv_heads = 8, std::uint64_t length = 128) {
  ModelSummary summary;
  summary.architecture = architecture;
  summary.layers = layers;
  summary.kv_heads.assign(layers, kv_heads);
  summary.key_length = summary.value_length = length;
  return summary;
}

std::vector<LayerCache> caches_of(ModelSummary summary, const CacheFacts& facts = {}) {
  set_caches(summary, facts);
  return summary.caches;
}

/// One letter for each layer: W all tokens, s a window, r a state alone, b both, - nothing.
std::string pattern_of(const std::vector<LayerCache>& caches) {
  std::string pattern;
  for (const LayerCache& cache : caches) {
    const bool keeps_tokens = cache.heads > 0 && cache.key_length > 0;
    if (keeps_tokens && cache.state_bytes > 0) {
      pattern += 'b';
    } else if (keeps_tokens) {
      pattern += cache.window_tokens > 0 ? 's' : 'W';
    } else {
      pattern += cache.state_bytes > 0 ? 'r' : '-';
    }
  }
  return pattern;
}

std::string pattern_of(const ModelSummary& summary, const CacheFacts& facts = {}) {
  return pattern_of(caches_of(summary, facts));
}

ModelSummary with_window(ModelSummary summary, std::uint64_t window) {
  summary.sliding_window = window;
  return summary;
}

CacheFacts facts_of_state(std::uint64_t bytes = 64) {
  CacheFacts facts;
  facts.state_bytes = bytes;
  return facts;
}

std::vector<LayerKind> kinds_of(std::initializer_list<LayerKind> kinds) { return kinds; }

}  // namespace

TEST_CASE("cache rules: names are whole words") {
  CHECK(find_cache_rule("llama")->kind == CacheKind::whole);
  CHECK(find_cache_rule("llama4")->kind == CacheKind::windows);
  for (const char* name : {"", " ", "lam", "llama ", "llama mistral", "gemma2 ", "qwen", "phi"}) {
    CAPTURE(name);
    const CacheRule* rule = find_cache_rule(name);
    const bool is_word = std::string(name) == "qwen" || std::string(name) == "phi";
    CHECK((rule != nullptr) == is_word);
  }
}

TEST_CASE("cache rules: the source is a public address") {
  CHECK(source_of(*find_cache_rule("llama")) ==
        "https://github.com/ggml-org/llama.cpp/blob/master/src/llama-model.cpp");
  CHECK(source_of(*find_cache_rule("gemma3")) ==
        "https://github.com/ggml-org/llama.cpp/blob/master/src/models/gemma3.cpp");
  CHECK(source_of(*find_cache_rule("zamba2")) ==
        "https://github.com/huggingface/transformers/blob/main/src/transformers/models/zamba2/"
        "modeling_zamba2.py");
}

TEST_CASE("layer caches: periods of windows, as llama.cpp's set_swa_pattern") {
  // Gemma 2: every other layer, 4096 tokens where no key says so.
  const auto gemma2 = caches_of(summary_of_shape("gemma2", 4));
  CHECK(pattern_of(gemma2) == "sWsW");
  CHECK(gemma2[0].window_tokens == 4096);
  // Gemma 3: five with a window, one without.
  CHECK(pattern_of(with_window(summary_of_shape("gemma3", 8), 1024)) == "sssssWss");
  // Command R7B: three and one.
  CHECK(pattern_of(with_window(summary_of_shape("cohere2", 5), 4096)) == "sssWs");
  // SmallThinker: the first of four attends to all.
  CHECK(pattern_of(with_window(summary_of_shape("smallthinker", 6), 4096)) == "WsssWs");
  // gpt-oss: layers 0, 2, ... have the window.
  CHECK(pattern_of(with_window(summary_of_shape("gpt-oss", 4), 128)) == "sWsW");
}

TEST_CASE("layer caches: a period or a list of the metadata comes first") {
  CacheFacts facts;
  facts.period = 3;
  CHECK(pattern_of(with_window(summary_of_shape("gemma3", 6), 1024), facts) == "ssWssW");
  facts.kinds = kinds_of({LayerKind::whole, LayerKind::window, LayerKind::whole});
  CHECK(pattern_of(with_window(summary_of_shape("gemma3", 3), 1024), facts) == "WsW");
  facts = {};
  facts.period = 0;  // all layers have the window
  CHECK(pattern_of(with_window(summary_of_shape("gemma3", 3), 1024), facts) == "sss");
}

TEST_CASE("layer caches: chunks of Llama 4 are 8192 tokens, whatever the key says") {
  const auto scout = caches_of(with_window(summary_of_shape("llama4", 48), 1024));
  CHECK(pattern_of(scout).substr(0, 8) == "sssWsssW");
  CHECK(scout[0].window_tokens == 8192);
  // 0 says that there are none.
  CHECK(pattern_of(with_window(summary_of_shape("llama4", 4), 0)) == "WWWW");
}

TEST_CASE("layer caches: windows of some sizes alone, windows that llama.cpp does not implement") {
  // EXAONE 4: the 32B has 64 layers, the 1.2B 30 and no windows.
  CHECK(pattern_of(with_window(summary_of_shape("exaone4", 64), 4096)).substr(0, 5) == "sssWs");
  CHECK(pattern_of(with_window(summary_of_shape("exaone4", 30), 4096)).substr(0, 5) == "WWWWW");
  CHECK(pattern_of(with_window(summary_of_shape("exaone4", 65), 4096)).substr(0, 5) == "WWWWW");
  // Mistral 7B v0.1, Phi-3.
  CHECK(pattern_of(with_window(summary_of_shape("llama", 2), 4096)) == "WW");
  CHECK(pattern_of(with_window(summary_of_shape("phi3", 2), 2047)) == "WW");
  // OLMo 2 has no key, OLMo 3 has.
  CHECK(pattern_of(summary_of_shape("olmo2", 4)) == "WWWW");
  CHECK(pattern_of(with_window(summary_of_shape("olmo2", 4), 4096)) == "sssW");
}

TEST_CASE("layer caches: layers that share the cache of others, and of multi-token prediction") {
  // Gemma 3n E4B: 20 of 35 layers have caches.
  const auto gemma3n = pattern_of(with_window(summary_of_shape("gemma3n", 35), 512));
  CHECK(gemma3n == "ssssWssssWssssWssssW" + std::string(15, '-'));
  CacheFacts facts;
  facts.shared_layers = 2;
  CHECK(pattern_of(with_window(summary_of_shape("gemma4", 6), 1024), facts) == "ssss--");
  facts.shared_layers = 100;
  CHECK(pattern_of(with_window(summary_of_shape("gemma4", 3), 1024), facts) == "---");
  facts = {};
  facts.predict_layers = 1;  // GLM-4.5
  CHECK(pattern_of(summary_of_shape("glm4moe", 4), facts) == "WWW-");
  facts.predict_layers = 100;
  CHECK(pattern_of(summary_of_shape("glm4moe", 2), facts) == "--");
}

TEST_CASE("layer caches: keys and values of layers with windows may be shorter") {
  // Gemma 4 31B: 512 elements, 256 with a window.
  CacheFacts facts;
  facts.window_heads = 16;
  facts.window_key_length = 256;
  facts.window_value_length = 128;
  const auto caches = caches_of(with_window(summary_of_shape("gemma4", 6, 4, 512), 1024), facts);
  CHECK(caches[0].heads == 16);
  CHECK(caches[0].key_length == 256);
  CHECK(caches[0].value_length == 128);
  CHECK(caches[5].heads == 4);
  CHECK(caches[5].key_length == 512);
  CHECK(caches[5].value_length == 512);
  // Without a window no layer is one of these.
  CHECK(caches_of(with_window(summary_of_shape("gemma4", 6, 4, 512), 0), facts)[0].heads == 4);
}

TEST_CASE("layer caches: latent attention keeps one key and no values") {
  // DeepSeek V3: kv_lora_rank 512 and 64 rotated elements.
  CacheFacts facts;
  facts.is_latent = true;
  auto caches = caches_of(summary_of_shape("deepseek2", 2, 1, 576), facts);
  CHECK(caches[1].key_length == 576);
  CHECK(caches[1].value_length == 0);
  // GGUFs of before 2025 have the decompressed keys and values.
  caches = caches_of(summary_of_shape("deepseek2", 1, 16, 192));
  CHECK(caches[0].value_length == 192);
  // Other architectures do not use the compressed cache.
  CHECK(caches_of(summary_of_shape("minicpm3", 1, 40, 96), facts)[0].value_length == 96);
}

TEST_CASE("layer caches: indexers of sparse attention") {
  CacheFacts facts;
  facts.is_latent = true;
  facts.indexer_length = 128;
  const auto indexers_of = [&](const char* name, std::uint64_t trained, std::size_t layers) {
    ModelSummary summary = summary_of_shape(name, layers, 1, 576);
    summary.context_length = trained;
    std::string indexers;
    for (const LayerCache& cache : caches_of(summary, facts)) {
      indexers += cache.indexer_length == 128 ? 'i' : '.';
    }
    return indexers;
  };
  CHECK(indexers_of("deepseek32", 163'840, 4) == "iiii");
  CHECK(indexers_of("deepseek2", 163'840, 2) == "..");
  CHECK(indexers_of("glm-dsa", 202'752, 4) == "iiii");
  CHECK(indexers_of("glm-dsa", 1'048'576, 11) == "iii...i...i");
  facts.indexers = {true, false, true};
  CHECK(indexers_of("glm-dsa", 1'048'576, 4) == "i.i.");
}

TEST_CASE("layer caches: recurrent architectures keep no tokens") {
  ModelSummary mamba = summary_of_shape("mamba", 2, 0, 0);
  set_caches(mamba, facts_of_state());
  CHECK(pattern_of(mamba.caches) == "rr");
  CHECK(mamba.is_recurrent);
  CHECK_FALSE(mamba.cache_is_bound);
  // Heads contradict that: at least the states, at most keys and values too.
  ModelSummary odd = summary_of_shape("mamba", 2, 1);
  set_caches(odd, facts_of_state());
  CHECK(odd.cache_is_bound);
  CHECK(pattern_of(odd.caches) == "bb");
  CHECK(pattern_of(odd.least_caches) == "rr");
}

TEST_CASE("layer caches: a million layers take a moment, as no layer looks at all the others") {
  constexpr std::uint64_t many = test::is_sanitized ? 50'000 : 1'000'000;
  for (const char* architecture : {"mamba", "jamba", "qwen3next", "gemma3", "deepseek2",
                                   "nemotron_h", "falcon-h1", "unknown"}) {
    CAPTURE(architecture);
    for (const std::uint64_t heads : {0U, 8U}) {
      ModelSummary summary = with_window(summary_of_shape(architecture, many, heads), 128);
      set_caches(summary, facts_of_state());
      CHECK(summary.caches.size() == many);
    }
  }
}

TEST_CASE("layer caches: hybrids by their list, their heads or an interval") {
  // Jamba 1.5 Mini: one layer of eight has KV heads.
  ModelSummary jamba = summary_of_shape("jamba", 8, 0);
  jamba.kv_heads[4] = 8;
  CHECK(pattern_of(jamba, facts_of_state()) == "rrrrWrrr");
  // Qwen3-Next: every fourth layer attends to all tokens.
  CHECK(pattern_of(summary_of_shape("qwen3next", 8), facts_of_state()) == "rrrWrrrW");
  CacheFacts facts = facts_of_state();
  facts.interval = 2;
  CHECK(pattern_of(summary_of_shape("qwen35", 4), facts) == "rWrW");
  facts.interval = 0;
  CHECK(pattern_of(summary_of_shape("qwen35", 2), facts) == "WW");
  // Nemotron-H: some layers are a network alone, which the GGUF shows by their width.
  ModelSummary nemotron = summary_of_shape("nemotron_h", 3, 0);
  nemotron.kv_heads[2] = 8;
  nemotron.feed_forward_length = {0, 21'504, 0};
  CHECK(pattern_of(nemotron, facts_of_state()) == "r-W");
  nemotron.architecture = "jamba";
  CHECK(pattern_of(nemotron, facts_of_state()) == "rrW");
  // Falcon-H1: every layer is both.
  CHECK(pattern_of(summary_of_shape("falcon-h1", 2), facts_of_state()) == "bb");
  facts = facts_of_state();
  facts.kinds = kinds_of({LayerKind::recurrent, LayerKind::whole, LayerKind::nothing});
  CHECK(pattern_of(summary_of_shape("nemotron_h", 3), facts) == "rW-");
}

TEST_CASE("layer caches: a state of unknown size names its keys") {
  CacheFacts facts;
  facts.missing_state_keys = {"mamba.ssm.inner_size"};
  ModelSummary summary = summary_of_shape("mamba", 1, 0, 0);
  set_caches(summary, facts);
  CHECK(summary.missing_state_keys == facts.missing_state_keys);
  CHECK(summary.caches[0].state_bytes == 0);
  ModelSummary llama = summary_of_shape("llama", 1);
  set_caches(llama, facts);
  CHECK(llama.missing_state_keys.empty());
}

TEST_CASE("layer caches: encoders keep nothing") {
  CHECK(pattern_of(summary_of_shape("nomic-bert", 2, 12, 64)) == "--");
  CHECK(pattern_of(summary_of_shape("gemma-embedding", 2)) == "--");
}

TEST_CASE("layer caches: an unknown architecture gives a bound") {
  ModelSummary summary = with_window(summary_of_shape("brand-new", 3), 1024);
  set_caches(summary, {});
  CHECK(summary.cache_is_bound);
  CHECK(summary.cache_source.empty());
  CHECK(pattern_of(summary.caches) == "WWW");
  REQUIRE(summary.least_caches.size() == 3);
  CHECK(summary.least_caches[0].window_tokens == 1024);
  CHECK(summary.least_caches[0].value_length == 0);
  // Nothing says that its layers attend at all.
  CHECK(summary.least_caches[0].heads == 0);
  // Without a window the least keeps what a batch needs.
  ModelSummary plain = summary_of_shape("brand-new", 1);
  set_caches(plain, {});
  CHECK(plain.least_caches.at(0).window_tokens == 1);
  ModelSummary known = summary_of_shape("llama", 1);
  set_caches(known, {});
  CHECK_FALSE(known.cache_is_bound);
  CHECK(known.least_caches.empty());
  CHECK_FALSE(known.cache_source.empty());
  // Kinds that are not known count for architectures that list them alone.
  CacheFacts facts;
  facts.has_unknown_kinds = true;
  for (const char* name : {"gemma3", "jamba", "qwen3next"}) {
    CAPTURE(name);
    ModelSummary listing = with_window(summary_of_shape(name, 1), 1024);
    set_caches(listing, facts);
    CHECK(listing.cache_is_bound);
    // A layer of Jamba or Qwen3-Next may have a state alone.
    CHECK(listing.least_caches.at(0).heads == (std::string(name) == "gemma3" ? 8 : 0));
  }
  ModelSummary llama = summary_of_shape("llama", 1);
  set_caches(llama, facts);
  CHECK_FALSE(llama.cache_is_bound);
}

TEST_CASE("layer caches: what an unknown architecture lists is believed, but no window") {
  CacheFacts facts = facts_of_state();
  facts.kinds = kinds_of({LayerKind::window, LayerKind::recurrent, LayerKind::nothing});
  CHECK(pattern_of(with_window(summary_of_shape("brand-new", 3), 1024), facts) == "Wr-");
  facts = facts_of_state();
  facts.interval = 2;
  CHECK(pattern_of(summary_of_shape("brand-new", 4), facts) == "rWrW");
}

TEST_CASE("layer caches: a layer of an unknown kind may keep nothing, or tokens and a state") {
  CacheFacts facts;
  facts.kinds = kinds_of({LayerKind::unknown, LayerKind::whole});
  facts.has_unknown_kinds = true;
  for (const char* name : {"brand-new", "gemma3", "jamba", "qwen3next"}) {
    CAPTURE(name);
    ModelSummary summary = summary_of_shape(name, 2);
    set_caches(summary, facts);
    REQUIRE(summary.cache_is_bound);
    CHECK(pattern_of(summary.caches) == "WW");
    CHECK(pattern_of(summary.least_caches) == "-s");
    facts.state_bytes = 64;
    const bool has_states = std::string(name) != "gemma3";
    CHECK(pattern_of(summary_of_shape(name, 2), facts) == (has_states ? "bW" : "WW"));
    facts.state_bytes.reset();
  }
}

TEST_CASE("layer caches: layers that may share the cache of the one before") {
  // Hunyuan with use_cla: llama.cpp gives each layer its own, Tencent's programs each second one.
  CacheFacts facts;
  facts.share_period = 2;
  ModelSummary summary = summary_of_shape("hunyuan_v1_moe", 5);
  set_caches(summary, facts);
  CHECK(summary.cache_is_bound);
  CHECK(pattern_of(summary.caches) == "WWWWW");
  CHECK(pattern_of(summary.least_caches) == "W-W-W");
  CHECK(summary.least_caches[0].value_length == 128);
  facts.share_period = 1;
  summary = summary_of_shape("hunyuan_v1_moe", 2);
  set_caches(summary, facts);
  CHECK_FALSE(summary.cache_is_bound);
}

TEST_CASE("layer caches: hybrids whose attention has a window") {
  // The layers without heads have states.
  ModelSummary summary = with_window(summary_of_shape("jamba", 2), 2048);
  summary.kv_heads[0] = 0;
  CHECK(pattern_of(summary, facts_of_state()) == "rs");
  // A list comes before the interval.
  CacheFacts facts = facts_of_state();
  facts.kinds = kinds_of({LayerKind::whole, LayerKind::recurrent, LayerKind::recurrent});
  CHECK(pattern_of(summary_of_shape("qwen35", 3), facts) == "Wrr");
}

TEST_CASE("layer caches: without the keys there are none") {
  ModelSummary summary = summary_of_shape("llama", 2);
  summary.missing_keys = {"llama.attention.head_count"};
  CHECK(caches_of(summary).empty());
  summary = summary_of_shape("llama", 2);
  summary.kv_heads.pop_back();
  CHECK(caches_of(summary).empty());
}

TEST_CASE("recurrent states: as logged by llama.cpp") {
  // Qwen3.8 27B, 48 recurrent layers: "RS buffer size = 149.62 MiB", "R (f32): 5.62 MiB, S (f32):
  // 144.00 MiB" (github.com/ggml-org/llama.cpp/pull/23792 has twice that for two sequences).
  const auto qwen27 = state_bytes(StateShape{4, 6144, 128, 16});
  CHECK(48.0 * static_cast<double>(qwen27.value()) / state_mib == 149.625);
  // Qwen3.6 35B-A3B, 30 recurrent layers: "R (f32): 2.81 MiB, S (f32): 60.00 MiB"
  // (github.com/bricelancasterwcp-sudo/bloomery, 2026-08-21-reap48-qwen36-spike.md, b10200).
  const auto qwen35 = state_bytes(StateShape{4, 4096, 128, 16});
  CHECK(30.0 * static_cast<double>(qwen35.value()) / state_mib == 62.8125);
}

TEST_CASE("recurrent states: shapes") {
  // Mamba 2.8B: no groups.
  CHECK(state_bytes(StateShape{4, 5120, 16, 0}) == 4 * (3 * 5120 + 5120 * 16));
  CHECK(state_bytes(StateShape{0, 8, 2, 0}) == 4 * 8 * 2);
  CHECK(state_bytes(StateShape{1, 8, 2, 0}) == 4 * 8 * 2);
  // RWKV 6 7B: two shifted tokens of 4096, 64 heads of 64 x 64.
  CHECK(state_bytes(HeadedStateShape{2 * 4096, 64, 64}) == 4 * (8192 + 64 * 64 * 64));
  // LFM2 1.2B: two of three taps of 2048.
  CHECK(state_bytes(HeadedStateShape{2 * 2048, 0, 0}) == 4 * 4096);
  for (int missing = 0; missing < 3; ++missing) {
    StateShape shape{4, 4096, 128, 16};
    if (missing == 0) shape.convolution.reset();
    if (missing == 1) shape.inner.reset();
    if (missing == 2) shape.state.reset();
    CHECK_FALSE(state_bytes(shape).has_value());
  }
  // 2^44 bytes are the most.
  const std::uint64_t most_floats = std::uint64_t{1} << 42;
  CHECK(state_bytes(HeadedStateShape{most_floats, 0, 0}) == 4 * most_floats);
  CHECK_FALSE(state_bytes(HeadedStateShape{most_floats + 1, 0, 0}).has_value());
  const std::uint64_t absurd = std::uint64_t{1} << 32;
  CHECK_FALSE(state_bytes(StateShape{4, absurd, absurd, 0}).has_value());
  CHECK_FALSE(state_bytes(HeadedStateShape{0, absurd, absurd}).has_value());
}
