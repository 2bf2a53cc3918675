// SPDX-License-Identifier: MIT
// configuration_qwen3_next.py, configuration_qwen3_5.py and configuration_qwen3_5_moe.py of
// transformers; llama.cpp's conversion/qwen.py, models/qwen3next.cpp and models/qwen35moe.cpp.
#include "model/decoder_delta.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "model/metadata_counts.hpp"
#include "model/text.hpp"

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

DeltaSpec read_delta_shape(GgufKeys& keys, const DecoderArchitecture& kind) {
  DeltaSpec delta;
  delta.key_heads = keys.required_count("ssm.group_count", most_head_extent);
  delta.value_heads = keys.required_count("ssm.time_step_rank", most_head_extent);
  delta.key_length = keys.required_count("ssm.state_size", most_delta_length);
  delta.taps = keys.required_count("ssm.conv_kernel", most_taps);
  const std::uint64_t values = keys.required_count("ssm.inner_size");
  if (delta.value_heads % delta.key_heads != 0) {
    keys.refuse("ssm.time_step_rank",
                "which is not a multiple of " + in_quotes(keys.key("ssm.group_count")));
  }
  delta.value_length = values / delta.value_heads;
  if (values % delta.value_heads != 0 || delta.value_length > most_delta_length) {
    keys.refuse("ssm.inner_size", "which is not " + in_quotes(keys.key("ssm.time_step_rank")) +
                                      " times a whole number from 1 to " +
                                      std::to_string(most_delta_length));
  }
  delta.is_tiled = !kind.has_grouped_delta;
  delta.has_rates = true;
  return delta;
}

// Of each layer, or one number for all; empty: the period decides.
std::vector<bool> read_recurrent_layers(GgufKeys& keys, std::uint64_t blocks) {
  constexpr std::string_view name = "attention.recurrent_layers";
  if (!keys.has(name)) return {};
  std::vector<bool> has_state;
  if (auto flags = keys.flags(name)) {
    has_state = *std::move(flags);
  } else if (const auto numbers = keys.integers(name)) {
    for (const std::int64_t number : *numbers) has_state.push_back(number != 0);
  } else {
    keys.refuse(name, "not an array of flags or numbers");
  }
  if (has_state.size() != blocks) {
    keys.refuse(name, "which does not fit " + base::plain_count_of(blocks, "layer"));
  }
  return has_state;
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

void read_delta_keys(GgufKeys& keys, const DecoderArchitecture& kind, std::uint64_t blocks,
                     DecoderSpec& spec) {
  const DeltaSpec delta = read_delta_shape(keys, kind);
  constexpr std::string_view interval = "full_attention_interval";
  const std::uint64_t period =
      keys.has(interval) ? keys.required_count(interval, most_layers) : kind.delta_period;
  const std::vector<bool> listed = read_recurrent_layers(keys, blocks);
  constexpr std::string_view window = "attention.sliding_window";
  if (keys.count(window).value_or(0) > 0) {
    keys.refuse(window, "which this architecture does not have");
  }
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    const bool has_state = listed.empty() ? (number + 1) % period != 0 : listed[number];
    if (has_state) {
      spec.layers[number].delta = delta;
    } else {
      spec.layers[number].has_output_gate = true;
    }
  }
}

void read_gated_expert_keys(GgufKeys& keys, DecoderSpec& spec) {
  const std::uint64_t shared = keys.count("expert_shared_feed_forward_length").value_or(0);
  for (DecoderLayer& layer : spec.layers) {
    layer.experts.shared_feed_forward = shared > 0 ? shared : layer.feed_forward;
  }
  if (!keys.flag("expert_weights_norm").value_or(true)) {
    keys.refuse("expert_weights_norm", "but programs normalise the weights of this architecture");
  }
}

// ggml's rope of "imrope": pairs take the sections in turn as long as each has some left.
void read_rope_sections(GgufKeys& keys, const DecoderSpec& spec) {
  constexpr std::string_view name = "rope.dimension_sections";
  if (!keys.has(name)) return;
  constexpr std::size_t kinds = 3;  // time, height and width
  const auto sections = keys.integers(name);
  if (!sections || sections->size() < kinds) keys.refuse(name, "not four whole numbers");
  std::int64_t all = 0;
  for (const std::int64_t section : *sections) {
    if (section < 0 || section > static_cast<std::int64_t>(most_head_extent)) {
      keys.refuse(name, "which has a number out of range: " + std::to_string(section));
    }
    all += section;
  }
  for (std::uint64_t pair = 0; pair < spec.rope.dimensions / 2; ++pair) {
    const std::int64_t place = all == 0 ? 0 : static_cast<std::int64_t>(pair) % all;
    const auto kind = static_cast<std::size_t>(place) % kinds;
    if (place >= static_cast<std::int64_t>(kinds) * (*sections)[kind]) {
      keys.refuse(name, "which leaves pair " + std::to_string(pair) + " of each head without one");
    }
  }
}

}  // namespace hiptool::model
