// SPDX-License-Identifier: MIT
// The only place that says how the cache of an architecture is computed. An architecture that is
// not listed gets a bound (layer_caches.cpp).
#include "model/cache_rules.hpp"

#include <array>

namespace hiptool::model {
namespace {

constexpr std::string_view llama_cpp = "https://github.com/ggml-org/llama.cpp/blob/master/";
constexpr std::string_view transformers =
    "https://github.com/huggingface/transformers/blob/main/src/transformers/models/";

// llama.cpp also allocates so for models that were trained with windows but whose windows it does
// not implement (Mistral 7B v0.1, Qwen2 with use_sliding_window, Phi-3).
constexpr std::string_view whole_names =
    "llama mistral mistral3 ministral3 mixtral iquestcoder baichuan xverse orion "
    "internlm2 internlm3 qwen qwen2 qwen2moe qwen2_moe qwen2vl qwen2_vl qwen2_vl_text qwen2_5_vl "
    "qwen2_5_vl_text qwen2_5_omni_text qwen2_audio qwen3 qwen3moe qwen3_moe qwen3vl qwen3_vl "
    "qwen3_vl_text qwen3vlmoe qwen3_vl_moe qwen3_vl_moe_text qwen3_omni_moe_text phi2 phi phi3 "
    "phimoe falcon refinedweb refinedwebmodel grok gpt2 gptj gptneox gpt_neox mpt starcoder "
    "gpt_bigcode starcoder2 refact gpt_refact bloom stablelm stablelm_epoch codeshell minicpm "
    "minicpm3 gemma command-r cohere dbrx olmo olmoe openelm arctic deepseek chatglm glm glm4 "
    "glm4moe glm4_moe glm4v_text glm4v_moe_text bitnet jais jais2 nemotron exaone granite "
    "granitemoe granitemoeshared chameleon plm bailingmoe bailing_moe bailingmoe2 bailing_moe_v2 "
    "dots1 arcee ernie4_5 ernie4_5-moe ernie4_5_moe hunyuan-moe hunyuan_v1_moe hunyuan-dense "
    "hunyuan_v1_dense hunyuan_vl hunyuan_vl_text smollm3 seed_oss grovemoe grove_moe apertus "
    "minimax-m2 minimax_m2 cogvlm pangu-embedded paddleocr plamo llama-embed maincoder talkie "
    "deci nemotron-nas hy_v3";

constexpr std::string_view encoder_names =
    "bert roberta xlm-roberta distilbert camembert modern-bert modernbert nomic-bert nomic_bert "
    "nomic-bert-moe neo-bert neobert jina-bert-v2 jina-bert-v3 eurobert gemma-embedding dream "
    "llada llada-moe llada_moe rnd1";

constexpr CacheRule windows(std::string_view names, std::uint64_t period, std::string_view source) {
  return {.names = names, .kind = CacheKind::windows, .period = period, .source = source};
}

constexpr CacheRule windows_after_whole(std::string_view names, std::uint64_t period,
                                        std::string_view source) {
  CacheRule rule = windows(names, period, source);
  rule.is_whole_first = true;
  return rule;
}

constexpr CacheRule recurrent(std::string_view names, CacheKind kind, std::string_view source) {
  return {.names = names, .kind = kind, .source = source};
}

constexpr CacheRule latent(std::string_view names, CacheKind kind, std::string_view source) {
  return {.names = names, .kind = kind, .is_latent = true, .source = source};
}

constexpr std::array rules{
    CacheRule{.names = whole_names, .source = "src/llama-model.cpp"},
    CacheRule{.names = encoder_names, .kind = CacheKind::nothing, .source = "src/llama-model.cpp"},
    // Windows; the pattern of the metadata comes before the period.
    CacheRule{.names = "gemma2",
              .kind = CacheKind::windows,
              .period = 2,
              .window = 4096,
              .source = "gemma2.cpp"},
    windows("gemma3 gemma3_text", 6, "gemma3.cpp"),
    CacheRule{.names = "gemma3n gemma3n_text",
              .kind = CacheKind::windows,
              .period = 5,
              .window = 512,
              .layers_with_cache = 20,
              .source = "gemma3n.cpp"},
    windows("gemma4 gemma4_text gemma4_unified_text", 6, "gemma4.cpp"),
    CacheRule{.names = "llama4 llama4_text",
              .kind = CacheKind::windows,
              .period = 4,
              .window = 8192,
              .is_window_fixed = true,
              .source = "llama4.cpp"},
    windows("cohere2", 4, "cohere2.cpp"),
    windows_after_whole("cohere2moe cohere2_moe", 4, "cohere2moe.cpp"),
    CacheRule{.names = "gpt-oss gpt_oss",
              .kind = CacheKind::windows,
              .period = 2,
              .window = 128,
              .source = "openai-moe.cpp"},
    CacheRule{.names = "exaone4",
              .kind = CacheKind::windows,
              .period = 4,
              .window = 4096,
              .windows_only_of = 64,
              .source = "exaone4.cpp"},
    CacheRule{.names = "exaone-moe exaone_moe",
              .kind = CacheKind::windows,
              .period = 4,
              .window = 128,
              .source = "exaone-moe.cpp"},
    windows("olmo2 olmo3", 4, "olmo2.cpp"),
    windows("plamo3", 8, "plamo3.cpp"),
    windows("afmoe", 4, "afmoe.cpp"),
    windows("mellum", 4, "mellum.cpp"),
    windows("muse-glimmer muse_glimmer", 4, "muse-glimmer.cpp"),
    windows_after_whole("laguna", 4, "laguna.cpp"),
    CacheRule{.names = "smallthinker",
              .kind = CacheKind::windows,
              .period = 4,
              .is_whole_first = true,
              .window = 4096,
              .is_window_fixed = true,
              .source = "smallthinker.cpp"},
    windows("mimo2 mimo_v2_flash mimo_v2", 1, "mimo2.cpp"),
    windows("step35 step3p5 step3p5_text", 1, "step35.cpp"),
    windows_after_whole("granite_swa granitemoe_swa", 4, "granite-swa.cpp"),
    windows("maple", 1, "maple.cpp"),
    windows("spark2_5", 1, "spark2-5.cpp"),
    // Latent attention.
    latent("deepseek2 deepseek_v2 deepseek_v3 kimi_k2 kimi_k25 glm4_moe_lite youtu youtu_vl "
           "deepseek2-ocr deepseek_vl_v2 mistral4",
           CacheKind::whole, "deepseek2.cpp"),
    CacheRule{.names = "deepseek32 deepseek_v32",
              .is_latent = true,
              .has_indexer = true,
              .source = "deepseek32.cpp"},
    CacheRule{.names = "glm-dsa glm_moe_dsa",
              .is_latent = true,
              .has_indexer = true,
              .sparse_indexers_from = 1'048'576,
              .source = "glm-dsa.cpp"},
    latent("kimi-linear kimi_linear", CacheKind::listed, "kimi-linear.cpp"),
    latent("bailingmoe3 bailing_moe_v3", CacheKind::listed, "bailingmoe3.cpp"),
    // Recurrent layers.
    recurrent("mamba falcon_mamba", CacheKind::recurrent, "mamba.cpp"),
    recurrent("mamba2", CacheKind::recurrent, "mamba2.cpp"),
    recurrent("rwkv6", CacheKind::recurrent, "rwkv6.cpp"),
    recurrent("rwkv6qwen2", CacheKind::recurrent, "rwkv6qwen2.cpp"),
    recurrent("rwkv7", CacheKind::recurrent, "rwkv7.cpp"),
    recurrent("arwkv7 rwkv_hybrid", CacheKind::recurrent, "arwkv7.cpp"),
    recurrent("jamba", CacheKind::listed, "jamba.cpp"),
    recurrent("granitehybrid granitemoehybrid bamba", CacheKind::listed, "granite-hybrid.cpp"),
    recurrent("lfm2 lfm2_text", CacheKind::listed, "lfm2.cpp"),
    recurrent("lfm2moe lfm2_moe", CacheKind::listed, "lfm2moe.cpp"),
    CacheRule{.names = "nemotron_h nemotron_h_moe nemotron_h_puzzle",
              .kind = CacheKind::listed,
              .has_lone_networks = true,
              .source = "nemotron-h.cpp"},
    recurrent("plamo2", CacheKind::listed, "plamo2.cpp"),
    recurrent("falcon-h1 falcon_h1", CacheKind::both, "falcon-h1.cpp"),
    recurrent("qwen3next qwen3_next", CacheKind::interval, "qwen3next.cpp"),
    recurrent("qwen35 qwen3_5 qwen3_5_text", CacheKind::interval, "qwen35.cpp"),
    recurrent("qwen35moe qwen3_5_moe qwen3_5_moe_text", CacheKind::interval, "qwen35moe.cpp"),
    // Not in llama.cpp: as transformers keeps it.
    recurrent("zamba2", CacheKind::listed, "zamba2/modeling_zamba2.py"),
    recurrent("zamba", CacheKind::listed, "zamba/modeling_zamba.py"),
};

bool has_word(std::string_view words, std::string_view word) noexcept {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  for (std::size_t at = words.find(word); at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || words[at - 1] == ' ';
    if (begins && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

const CacheRule* find_cache_rule(std::string_view architecture) noexcept {
  for (const CacheRule& rule : rules) {
    if (has_word(rule.names, architecture)) return &rule;
  }
  return nullptr;
}

std::string source_of(const CacheRule& rule) {
  const std::string source(rule.source);
  if (source.ends_with(".py")) return std::string(transformers) + source;
  const bool is_path = source.starts_with("src/");
  return std::string(llama_cpp) + (is_path ? "" : "src/models/") + source;
}

}  // namespace hiptool::model
