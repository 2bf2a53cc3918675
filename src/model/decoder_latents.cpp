// SPDX-License-Identifier: MIT
#include "model/decoder_latents.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/decoder_config_parts.hpp"
#include "model/metadata_counts.hpp"

namespace hiptool::model {
namespace {

std::uint64_t optional_count(ConfigFields& config, const std::string& name, std::uint64_t absent) {
  const std::uint64_t value = config.count(name, most_experts).value_or(absent);
  return value == 0 ? absent : value;
}

// modeling_deepseek_v3.py and modeling_deepseek_v2.py (DeepseekV3TopkRouter, DeepseekV2TopkRouter).
void read_share_choice(ConfigFields& config, const DecoderArchitecture& kind,
                       ExpertsSpec& experts) {
  const bool is_sigmoid = kind.has_sigmoid_shares;
  experts.share = is_sigmoid ? ExpertShare::sigmoid : ExpertShare::softmax;
  const std::string function = is_sigmoid ? "sigmoid" : "softmax";
  if (config.text("scoring_func").value_or(function) != function) {
    config.refuse("scoring_func", "but this architecture is known with " + function + " alone");
  }
  const std::string usual = is_sigmoid ? "noaux_tc" : "greedy";
  const std::string method = config.text("topk_method").value_or(usual);
  const std::string other = is_sigmoid ? usual : "group_limited_greedy";
  if (method != usual && method != other) {
    config.refuse("topk_method", "which this architecture does not have");
  }
  for (const char* name : {"n_group", "topk_group", "norm_topk_prob", "routed_scaling_factor"}) {
    if (is_sigmoid && config.find(name) == nullptr) {
      config.refuse(name, "which this architecture needs");
    }
  }
  const std::uint64_t groups = optional_count(config, "n_group", 1);
  const std::uint64_t groups_used = optional_count(config, "topk_group", groups);
  if (method != "greedy" && groups > 1) {
    experts.groups = groups;
    experts.groups_used = groups_used;
    experts.group_best = is_sigmoid ? 2 : 1;
  }
  experts.is_normalised = config.flag("norm_topk_prob", is_sigmoid);
  if (experts.is_normalised && !is_sigmoid) {
    config.refuse("norm_topk_prob", "which transformers does not compute for this architecture");
  }
  experts.scale = config.positive("routed_scaling_factor", 1);
}

}  // namespace

void read_config_shares(ConfigFields& config, const DecoderArchitecture& kind, DecoderSpec& spec) {
  if (config.count("moe_layer_freq").value_or(1) != 1) {
    config.refuse("moe_layer_freq", "but here all layers after the first have experts");
  }
  // Of training, of the layout on several devices, and of layers that predict further tokens.
  for (const char* name : {"aux_loss_alpha", "seq_aux", "ep_size"}) config.find(name);
  ExpertsSpec experts = read_expert_counts(config, "n_routed_experts");
  read_share_choice(config, kind, experts);
  for (const char* name : {"first_k_dense_replace", "n_shared_experts"}) {
    if (config.find(name) == nullptr) config.refuse(name, "which this architecture needs");
  }
  const std::uint64_t dense = config.count("first_k_dense_replace").value_or(0);
  const std::uint64_t feed_forward = config.required_count("moe_intermediate_size");
  experts.shared_feed_forward =
      feed_forward * config.count("n_shared_experts", most_experts).value_or(0);
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    if (layer < dense) continue;
    spec.layers[layer].experts = experts;
    spec.layers[layer].feed_forward = feed_forward;
  }
}

// configuration_deepseek_v3.py. transformers 5 also saves two sums, and the rotated elements as
// "head_dim".
void read_config_latents(ConfigFields& config, DecoderSpec& spec) {
  const std::uint64_t plain = config.required_count("qk_nope_head_dim", most_head_extent);
  const std::uint64_t rotated = config.required_count("qk_rope_head_dim", most_head_extent);
  spec.key_length = plain + rotated;
  spec.value_length = config.required_count("v_head_dim", most_head_extent);
  spec.rope.dimensions = rotated;
  spec.attention_scale = 1 / std::sqrt(static_cast<double>(spec.key_length));
  if (config.count("head_dim").value_or(rotated) != rotated) {
    config.refuse("head_dim", "which is not 'qk_rope_head_dim'");
  }
  if (config.count("qk_head_dim").value_or(spec.key_length) != spec.key_length) {
    config.refuse("qk_head_dim", "which is not 'qk_nope_head_dim' plus 'qk_rope_head_dim'");
  }
  const std::uint64_t length = config.required_count("kv_lora_rank", most_head_extent);
  const std::uint64_t query_length = config.count("q_lora_rank", most_head_extent).value_or(0);
  for (DecoderLayer& layer : spec.layers) {
    layer.latent.length = length;
    layer.latent.query_length = query_length;
    layer.latent.norm_epsilon = 1e-6;  // of DeepseekV3RMSNorm, whatever "rms_norm_eps" says
    if (layer.kv_heads != layer.heads) {
      config.refuse("num_key_value_heads", "but this architecture has as many as heads");
    }
  }
}

std::uint64_t read_further_layers(ConfigFields& config) {
  const auto old_name = config.count("num_nextn_predict_layers", most_layers);
  return config.count("num_mtp_layers", most_layers).value_or(old_name.value_or(0));
}

// modeling_deepseek_v3.py (yarn_apply_mscale): YaRN's factor of all scores.
void read_config_latent_rope(ConfigFields& config, const std::filesystem::path& path,
                             DecoderSpec& spec) {
  spec.rope.pairs =
      config.flag("rope_interleave", true) ? RopePairs::neighbours : RopePairs::halves;
  const char* const name =
      config.find("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  const ConfigJson* const object = config.find(name);
  if (object == nullptr || spec.rope.scaling == RopeScaling::none) return;
  ConfigFields fields(*object, path, std::string(name) + ".");
  const double scale = fields.number("mscale_all_dim").value_or(0);
  const double factor = fields.number("factor").value_or(1);
  if (scale == 0) return;
  const double multiplier = yarn_attention_factor(factor, scale);
  spec.attention_scale *= multiplier * multiplier;
}

}  // namespace hiptool::model
