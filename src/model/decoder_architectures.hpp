// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hiptool/decoder_spec.hpp"

namespace hiptool::model {

/// Whether a layer adds a vector to the result of a matrix.
enum class Bias { never, where_stored, always };

/// Which matrices of a layer have one.
struct DecoderBiases {
  Bias qkv = Bias::never;
  Bias attention_output = Bias::never;
  Bias feed_forward = Bias::never;
  Bias experts = Bias::never;  ///< the router among them
};

/// Which layers a config.json gives a window, unless its layer_types say so.
enum class ConfigWindow {
  none,                ///< the key is refused
  everywhere,          ///< sliding_window alone
  if_used,             ///< of all layers, if use_sliding_window
  from_a_layer,        ///< from max_window_layers on, if use_sliding_window
  in_periods,          ///< of all layers but the last of each period
  in_periods_or_none,  ///< the same, if sliding_window is given
};

/// All that distinguishes one architecture of decoders from another: the readers of metadata, the
/// names of tensors and the writer of sample models go by this row.
struct DecoderArchitecture {
  std::string_view gguf;             ///< general.architecture; empty: see gguf_alike
  std::string_view config;           ///< model_type of config.json
  std::string_view gguf_alike = {};  ///< without `gguf`: what a GGUF of such a model has
  RopePairs gguf_pairs = RopePairs::halves;
  bool has_divisors = false;  ///< a GGUF may have rope_freqs.weight
  DecoderBiases gguf_biases = {};
  DecoderBiases config_biases = {};
  bool has_attention_bias_key = false;   ///< attention_bias of config.json: of q, k, v and output
  bool has_mlp_bias_key = false;         ///< mlp_bias of config.json
  bool has_output_bias_key = true;       ///< attention_bias is of the output as well
  bool has_head_norms = false;           ///< q_norm and k_norm
  bool has_optional_head_norms = false;  ///< use_qk_norm of config.json; of a GGUF where stored
  bool needs_kv_heads = true;            ///< of config.json; else as many as heads
  std::uint64_t config_head_length = 0;  ///< where config.json lacks it; 0: embedding / heads
  ConfigWindow config_window = ConfigWindow::none;
  bool has_experts = false;
  bool has_post_norms = false;       ///< of attention and MLP, before they are added
  bool has_embedding_scale = false;  ///< sqrt(embedding)
  double config_norm_offset = 0;     ///< that GGUF's converter adds to norm weights
  GateKind gate = GateKind::silu;
  bool is_tied_by_default = false;  ///< where config.json does not say
  /// The last layer of each period sees everything, where no key says so; 0: no periods.
  std::uint64_t window_period = 0;
  bool has_sinks = false;
  /// How config.json and safetensors of experts differ from qwen3_moe's.
  bool has_packed_experts = false;  ///< blocks and scales, gate and up in one tensor
  std::string_view gguf_feed_forward_norm = "ffn_norm";
  std::string_view config_feed_forward_norm = "post_attention_layernorm";
  double local_rope_base = 0;            ///< of layers with a window; 0: they turn as the others do
  bool has_unscaled_local_rope = false;  ///< of the others' base, without their scaling
  RopePairs config_pairs = RopePairs::halves;
  double config_rope_base = 10000;         ///< where config.json lacks it
  bool has_partial_rope = false;           ///< partial_rotary_factor of config.json
  double config_partial_rope = 1;          ///< where config.json lacks it
  bool has_fused_matrices = false;         ///< q, k and v in one tensor, gate and up in another
  bool may_have_experts = false;           ///< where a GGUF names their number
  bool has_numbered_expert_names = false;  ///< w1, w2 and w3 in safetensors
  std::uint64_t plain_period = 0;          ///< the last layer of so many is not turned; 0: all are
  bool has_rope_in_windows_only = false;   ///< where the model has windows
  bool has_multipliers = false;            ///< of embedding, scores, residuals and logits
  bool has_pre_norms = true;               ///< of attention and MLP, of their inputs
  bool has_row_norms = false;              ///< q_norm and k_norm of all heads at once
  bool has_softcaps = false;               ///< of scores and logits
  std::uint64_t gguf_window = 0;           ///< where a GGUF does not say
  std::uint64_t gguf_window_layers = 0;    ///< only with this number of layers; 0: with any
  bool is_parallel = false;  ///< attention and MLP side by side behind layer norms; scaled logits
  bool has_temperature = false;  ///< queries grow with the position
  bool has_latents = false;      ///< LatentSpec
  /// Leading layers without experts, shared experts, shares and groups of experts.
  bool has_shares = false;
  bool has_further_layers = false;  ///< a GGUF counts layers of further tokens among its own
  /// Of config.json with shares: they are sigmoids, plus a bias where they choose.
  bool has_sigmoid_shares = false;
  /// Of each group of this many layers the last has gated attention, the others a state
  /// (DeltaSpec); 0: no layer has a state.
  std::uint64_t delta_period = 0;
  bool has_joined_experts = false;  ///< of published folders: gate and up of all in one tensor
  bool has_grouped_delta = false;   ///< value heads of a key head are neighbours in every format;
                                    ///< of config.json: DeltaSpec without z and steps
  bool has_rope_sections = false;   ///< of a GGUF: of time, height and width, alike for text
  /// Where config.json lacks them; 0: it may not.
  double config_norm_epsilon = 1e-6;
  std::uint64_t config_window_tokens = 0;
  std::uint64_t config_vocabulary = 0;
  std::uint64_t config_heads = 0;
  std::uint64_t config_kv_heads = 0;
};

/// Whether the layers with a window turn in another way.
constexpr bool has_local_rope(const DecoderArchitecture& kind) noexcept {
  return kind.local_rope_base > 0 || kind.has_unscaled_local_rope;
}

/// Whether config.json describes those layers on their own.
constexpr bool has_two_ropes(const DecoderArchitecture& kind) noexcept {
  return has_local_rope(kind) && kind.config_window != ConfigWindow::none;
}

/// Null where it is not known.
const DecoderArchitecture* find_gguf_architecture(std::string_view name) noexcept;
const DecoderArchitecture* find_config_architecture(std::string_view name) noexcept;

/// "llama, qwen2 and qwen3": the names that a GGUF, or a config.json, may have.
std::string known_architectures(bool is_gguf);

/// Every row: of rows with the same name of GGUF the first reads it, the others write it.
std::span<const DecoderArchitecture> decoder_architectures() noexcept;

}  // namespace hiptool::model
