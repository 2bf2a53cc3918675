// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/decoder_architectures.hpp"
#include "model_writer/gguf_fields.hpp"
#include "model_writer/model_writer.hpp"
#include "model_writer/writer_plan.hpp"

namespace hiptool::model_writer {

/// Of 3 layers, embedding and norm. Empty for an unknown architecture.
std::uint64_t least_decoder_tensors(const SampleDecoder& decoder);

/// A decoder. The sizes of a small one are odd, so that a program cannot confuse two of them.
struct DecoderPlan {
  SampleDecoder decoder;
  const model::DecoderArchitecture* kind = nullptr;
  std::uint32_t embedding = 96;
  std::uint32_t heads = 6;
  std::uint32_t kv_heads = 2;
  std::uint32_t head_length = 24;
  std::uint32_t feed_forward = 163;
  std::uint32_t experts = 7;  ///< where the architecture has some
  std::uint32_t experts_used = 3;
  /// Those below where it has latents or shares; heads have head_length elements, of which with
  /// latents `turned` rotate.
  std::uint32_t turned = 8;
  std::uint32_t value_length = 20;
  std::uint32_t latent = 36;
  std::uint32_t query_latent = 44;  ///< 0: queries have none
  std::uint32_t dense_layers = 1;
  std::uint32_t expert_feed_forward = 51;
  std::uint32_t shared_experts = 2;
  std::uint32_t groups = 1;
  std::uint32_t groups_used = 1;
  bool has_sigmoid_shares = false;
  bool has_split_keys = false;  ///< matrices of keys and values in a GGUF are two
  bool has_scales = false;      ///< of matrices in FP8, for blocks of scale_block x scale_block
  /// Those below where layers have a state, see model::DeltaSpec.
  std::uint32_t state_key_heads = 2;
  std::uint32_t state_value_heads = 6;
  std::uint32_t state_key_length = 12;
  std::uint32_t state_value_length = 20;
  std::uint32_t taps = 4;
  std::uint32_t vocabulary = 331;
  std::uint32_t layers = 3;
  std::uint32_t context = 64;           ///< tokens
  std::uint32_t original_context = 32;  ///< before scaling of the rotary embedding
  double factor = 4;                    ///< of that scaling
  std::vector<PlannedTensor> tensors;

  bool has_state(std::uint32_t layer) const {
    return kind->delta_period > 0 && (layer + 1) % state_period() != 0;
  }
  /// A short one in a small model, so that layers with a state are on both sides of the others.
  std::uint32_t state_period() const {
    return decoder.size_bytes > 0 ? static_cast<std::uint32_t>(kind->delta_period) : own_period;
  }

  /// Elements of a head that are turned.
  std::uint32_t rotary() const {
    if (kind->has_latents) return turned;
    return static_cast<std::uint32_t>(turned_part() * head_length);
  }
  /// Of a head: 0.75, which no architecture has by default; of glm4moe its default.
  double turned_part() const {
    if (!kind->has_partial_rope) return 1;
    const bool is_default = kind->delta_period == 0 && kind->config_partial_rope != 1;
    return is_default ? kind->config_partial_rope : 0.75;
  }
  /// Behind the others, of further tokens: folders of those with states have another name for it.
  bool has_further_layer(bool is_gguf) const {
    return kind->has_further_layers && (is_gguf || kind->delta_period == 0);
  }
  bool has_qkv_bias() const {
    return kind->config_biases.qkv == model::Bias::always || !kind->has_output_bias_key;
  }
  bool has_head_norms() const {
    return kind->has_head_norms && !(kind->has_optional_head_norms && decoder.is_tied);
  }
  /// A Hugging Face folder has it behind an encoder of images, which is left out here.
  bool is_part() const { return kind->has_temperature; }
  bool has_window(std::uint32_t layer) const {
    const std::uint64_t period =
        kind->window_period > own_period ? own_period : kind->window_period;
    return decoder.window > 0 && (period == 0 || layer % period < period - 1);
  }

  /// Where layers have windows in longer periods, so that the last of three layers has none.
  static constexpr std::uint32_t own_period = 3;
  static constexpr std::uint32_t scale_block = 128;
};

/// Matrices take the types in turn; norms and biases are F32. In safetensors a matrix in F8_E4M3
/// has scales behind it, and embedding, output and routers are BF16 in its place. The values are
/// those of weight_pattern() with tensor_seed(options.seed, number of the tensor). Throws
/// Error(invalid_argument) for types that are not weights and for unknown architectures.
DecoderPlan plan_decoder(const ModelWriterOptions& options, const std::vector<PlannedType>& types);

void write_decoder_keys(GgufHeader& header, const DecoderPlan& plan);
/// The text of its config.json.
std::string decoder_config(const DecoderPlan& plan);

}  // namespace hiptool::model_writer
