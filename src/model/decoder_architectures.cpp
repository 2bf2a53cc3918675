// SPDX-License-Identifier: MIT
#include "model/decoder_architectures.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace hiptool::model {
namespace {

constexpr DecoderBiases where_stored{Bias::where_stored, Bias::where_stored, Bias::where_stored};
constexpr DecoderBiases of_all_experts{Bias::always, Bias::always, Bias::never, Bias::always};
constexpr DecoderBiases of_qkv{Bias::always, Bias::never, Bias::never};

// llama.cpp's src/models and Hugging Face transformers' configuration_*.py and modeling_*.py.
constexpr std::array<DecoderArchitecture, 20> architectures{{
    {.gguf = "llama",
     .config = "llama",
     .gguf_pairs = RopePairs::neighbours,
     .has_divisors = true,
     .gguf_biases = where_stored,
     .has_attention_bias_key = true,
     .has_mlp_bias_key = true,
     .needs_kv_heads = false,
     .may_have_experts = true},
    {.gguf = "",
     .config = "mistral",
     .config_window = ConfigWindow::everywhere,
     .config_window_tokens = 4096},
    {.gguf = "qwen2",
     .config = "qwen2",
     .gguf_biases = of_qkv,
     .config_biases = of_qkv,
     .config_window = ConfigWindow::from_a_layer,
     .config_window_tokens = 4096},
    {.gguf = "qwen3",
     .config = "qwen3",
     .has_attention_bias_key = true,
     .has_head_norms = true,
     .config_head_length = 128,
     .config_window = ConfigWindow::from_a_layer,
     .config_window_tokens = 4096},
    {.gguf = "qwen3moe",
     .config = "qwen3_moe",
     .has_attention_bias_key = true,
     .has_head_norms = true,
     .config_window = ConfigWindow::if_used,
     .has_experts = true,
     .config_window_tokens = 4096},
    {.gguf = "gemma3",
     .config = "gemma3_text",
     .has_attention_bias_key = true,
     .has_head_norms = true,
     .config_head_length = 256,
     .config_window = ConfigWindow::in_periods,
     .has_post_norms = true,
     .has_embedding_scale = true,
     .config_norm_offset = 1,
     .gate = GateKind::gelu,
     .is_tied_by_default = true,
     .window_period = 6,
     .config_feed_forward_norm = "pre_feedforward_layernorm",
     .local_rope_base = 10000,
     .config_window_tokens = 4096,
     .config_vocabulary = 262208,
     .config_heads = 8,
     .config_kv_heads = 4},
    {.gguf = "gpt-oss",
     .config = "gpt_oss",
     .gguf_biases = of_all_experts,
     .config_biases = of_all_experts,
     .has_attention_bias_key = true,
     .config_head_length = 64,
     .config_window = ConfigWindow::in_periods,
     .has_experts = true,
     .gate = GateKind::clamped_silu,
     .window_period = 2,
     .has_sinks = true,
     .has_packed_experts = true,
     .gguf_feed_forward_norm = "post_attention_norm",
     .config_norm_epsilon = 1e-5,
     .config_window_tokens = 128},
    {.gguf = "phi3",
     .config = "phi3",
     .needs_kv_heads = false,
     .config_window = ConfigWindow::everywhere,
     .has_partial_rope = true,
     .has_fused_matrices = true,
     .config_norm_epsilon = 1e-5},
    {.gguf = "llama",
     .config = "mixtral",
     .gguf_pairs = RopePairs::neighbours,
     .config_window = ConfigWindow::everywhere,
     .has_experts = true,
     .config_rope_base = 1'000'000,
     .has_numbered_expert_names = true,
     .config_norm_epsilon = 1e-5},
    {.gguf = "smollm3",
     .config = "smollm3",
     .gguf_pairs = RopePairs::neighbours,
     .has_attention_bias_key = true,
     .has_mlp_bias_key = true,
     .config_window = ConfigWindow::if_used,
     .is_tied_by_default = true,
     .config_rope_base = 2'000'000,
     .plain_period = 4},
    {.gguf = "granite",
     .config = "granite",
     .gguf_pairs = RopePairs::neighbours,
     .has_attention_bias_key = true,
     .has_mlp_bias_key = true,
     .needs_kv_heads = false,
     .has_multipliers = true},
    {.gguf = "mistral3",
     .config = "ministral3",
     .gguf_pairs = RopePairs::neighbours,
     .config_window = ConfigWindow::everywhere,
     .has_temperature = true,
     .config_norm_epsilon = 1e-5},
    {.gguf = "olmo2",
     .config = "olmo2",
     .has_attention_bias_key = true,
     .has_head_norms = true,
     .needs_kv_heads = false,
     .has_post_norms = true,
     .window_period = 4,
     .has_unscaled_local_rope = true,
     .has_pre_norms = false,
     .has_row_norms = true,
     .config_norm_epsilon = 1e-5},
    {.gguf = "olmo2",
     .config = "olmo3",
     .has_attention_bias_key = true,
     .has_head_norms = true,
     .needs_kv_heads = false,
     .config_window = ConfigWindow::in_periods,
     .has_post_norms = true,
     .window_period = 4,
     .has_unscaled_local_rope = true,
     .config_rope_base = 500'000,
     .has_pre_norms = false,
     .has_row_norms = true,
     .config_norm_epsilon = 1e-5,
     .config_window_tokens = 4096},
    {.gguf = "gemma2",
     .config = "gemma2",
     .has_attention_bias_key = true,
     .config_head_length = 256,
     .config_window = ConfigWindow::in_periods,
     .has_post_norms = true,
     .has_embedding_scale = true,
     .config_norm_offset = 1,
     .gate = GateKind::gelu,
     .is_tied_by_default = true,
     .window_period = 2,
     .config_feed_forward_norm = "pre_feedforward_layernorm",
     .has_softcaps = true,
     .gguf_window = 4096,
     .config_window_tokens = 4096},
    {.gguf = "exaone4",
     .config = "exaone4",
     .has_divisors = true,
     .has_head_norms = true,
     .config_window = ConfigWindow::in_periods_or_none,
     .has_post_norms = true,
     .window_period = 4,
     .has_rope_in_windows_only = true,
     .has_pre_norms = false,
     // Of the 32B alone (llama.cpp's models/exaone4.cpp).
     .gguf_window = 4096,
     .gguf_window_layers = 64,
     .config_norm_epsilon = 1e-5,
     .config_window_tokens = 4096},
    {.gguf = "cohere2",
     .config = "cohere2",
     .gguf_pairs = RopePairs::neighbours,
     .has_attention_bias_key = true,
     .needs_kv_heads = false,
     .config_window = ConfigWindow::in_periods,
     .is_tied_by_default = true,
     .window_period = 4,
     .config_pairs = RopePairs::neighbours,
     .has_rope_in_windows_only = true,
     .is_parallel = true,
     .config_norm_epsilon = 1e-5,
     .config_window_tokens = 4096},
    {.gguf = "deepseek2",
     .config = "deepseek_v3",
     .gguf_pairs = RopePairs::neighbours,
     .has_attention_bias_key = true,
     .needs_kv_heads = false,
     .has_experts = true,
     .has_latents = true,
     .has_sigmoid_shares = true},
    {.gguf = "",
     .config = "kimi_k2",
     .has_attention_bias_key = true,
     .needs_kv_heads = false,
     .has_experts = true,
     .has_latents = true,
     .has_sigmoid_shares = true},
    {.gguf = "",
     .config = "deepseek_v2",
     .has_attention_bias_key = true,
     .needs_kv_heads = false,
     .has_experts = true,
     .has_latents = true},
}};

const DecoderArchitecture* find_named(std::string_view DecoderArchitecture::*member,
                                      std::string_view name) noexcept {
  const auto found = std::ranges::find(architectures, name, member);
  return found == architectures.end() || name.empty() ? nullptr : &*found;
}

}  // namespace

const DecoderArchitecture* find_gguf_architecture(std::string_view name) noexcept {
  return find_named(&DecoderArchitecture::gguf, name);
}

const DecoderArchitecture* find_config_architecture(std::string_view name) noexcept {
  return find_named(&DecoderArchitecture::config, name);
}

std::span<const DecoderArchitecture> decoder_architectures() noexcept { return architectures; }

std::string known_architectures(bool is_gguf) {
  std::vector<std::string> names;
  for (const DecoderArchitecture& one : architectures) {
    const std::string_view name = is_gguf ? one.gguf : one.config;
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  std::string list = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    list += (i + 1 < names.size() ? ", " : " and ") + names[i];
  }
  return list;
}

}  // namespace hiptool::model
