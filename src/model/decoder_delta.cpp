// SPDX-License-Identifier: MIT
// configuration_qwen3_next.py, configuration_qwen3_5.py and configuration_qwen3_5_moe.py of
// transformers.
#include "model/decoder_delta.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/metadata_counts.hpp"

namespace hiptool::model {
namespace {

constexpr std::uint64_t most_delta_length = 256;  // of a head: a state has at most its square
constexpr std::uint64_t most_taps = 64;

std::uint64_t usual_count(ConfigFields& config, const char* name, std::uint64_t usual,
                          std::uint64_t most) {
  return config.has(name) ? config.required_count(name, most) : usual;
}

DeltaSpec read_delta(ConfigFields& config) {
  DeltaSpec delta;
  delta.key_heads = usual_count(config, "linear_num_key_heads", 16, most_head_extent);
  delta.value_heads = usual_count(config, "linear_num_value_heads", 32, most_head_extent);
  delta.key_length = usual_count(config, "linear_key_head_dim", 128, most_delta_length);
  delta.value_length = usual_count(config, "linear_value_head_dim", 128, most_delta_length);
  delta.taps = usual_count(config, "linear_conv_kernel_dim", 4, most_taps);
  if (delta.value_heads % delta.key_heads != 0) {
    config.refuse("linear_num_value_heads", "which are not a multiple of 'linear_num_key_heads'");
  }
  return delta;
}

}  // namespace

void read_config_delta(ConfigFields& config, const DecoderArchitecture& kind, DecoderSpec& spec) {
  const DeltaSpec delta = read_delta(config);
  const std::uint64_t period =
      usual_count(config, "full_attention_interval", kind.delta_period, most_layers);
  const ConfigJson* const types = config.find("layer_types");
  if (types != nullptr && (!types->is_array() || types->size() != spec.layers.size())) {
    config.refuse("layer_types", "which does not name one type for each layer");
  }
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    bool has_state = (number + 1) % period != 0;
    if (types != nullptr) {
      const ConfigJson& type = (*types)[number];
      if (type != "full_attention" && type != "linear_attention") {
        config.refuse("layer_types", "which has a type that is not supported");
      }
      has_state = type == "linear_attention";
    }
    if (has_state) {
      spec.layers[number].delta = delta;
    } else {
      spec.layers[number].has_output_gate = true;
    }
  }
  // Files of the makers say what every model of the architecture has.
  if (!config.flag("attn_output_gate", true)) {
    config.refuse("attn_output_gate", "but this architecture has it");
  }
  if (config.flag("use_sliding_window", false)) {
    config.refuse("use_sliding_window", "which this architecture does not have");
  }
  config.text("mamba_ssm_dtype");  // of programs that keep the state in f32 or in less
  for (const char* name : {"mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"}) {
    config.find(name);  // of layers that predict further tokens, which change no logits
  }
}

void read_config_gated_experts(ConfigFields& config, const DecoderArchitecture& kind,
                               DecoderSpec& spec) {
  if (config.count("decoder_sparse_step").value_or(1) != 1) {
    config.refuse("decoder_sparse_step", "but here all layers have experts");
  }
  if (const ConfigJson* plain = config.find("mlp_only_layers"); plain && !plain->empty()) {
    config.refuse("mlp_only_layers", "but here all layers have experts");
  }
  ExpertsSpec experts;
  experts.count = config.required_count("num_experts", most_experts);
  experts.used = config.required_count("num_experts_per_tok", experts.count);
  // Qwen3.5 always does.
  experts.is_normalised = config.flag("norm_topk_prob", true);
  if (!experts.is_normalised && !kind.has_grouped_delta) {
    config.refuse("norm_topk_prob", "which transformers does not read for this architecture");
  }
  experts.shared_feed_forward = config.required_count("shared_expert_intermediate_size");
  const std::uint64_t feed_forward = config.required_count("moe_intermediate_size");
  for (DecoderLayer& layer : spec.layers) {
    layer.experts = experts;
    layer.feed_forward = feed_forward;
  }
}

}  // namespace hiptool::model
