// SPDX-License-Identifier: MIT
#include "model_writer/decoder_shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace hiptool::model_writer {
namespace {

constexpr std::uint32_t least_layers = 3;
constexpr std::uint32_t most_layers = 1000;
constexpr double near_enough = 0.1;
constexpr std::uint32_t context_of_shapes = 8192;

struct DecoderShape {
  std::string_view architecture;  ///< empty: any
  std::uint32_t embedding, layers, heads, kv_heads, head_length, feed_forward, vocabulary;
  std::uint32_t experts = 0, experts_used = 0;  ///< 0: as in the smallest model
};

// Below the first three: config.json of SmolLM2 135M and 360M, Llama 3.2 1B and 3B, Llama 3.1 8B,
// 70B and 405B; Mistral 7B v0.3, Nemo and Large 2407; Qwen2.5 0.5B to 72B; Qwen3 0.6B to 32B,
// 30B-A3B and 235B-A22B, DeepSeek V3, GLM-4.5-Air, all on Hugging Face.
constexpr std::array shapes{
    DecoderShape{"", 256, 4, 4, 2, 64, 768, 2048},
    DecoderShape{"", 512, 8, 8, 4, 64, 1536, 8192},
    DecoderShape{"", 1024, 12, 16, 4, 64, 3072, 32000},
    DecoderShape{"llama", 576, 30, 9, 3, 64, 1536, 49152},
    DecoderShape{"llama", 960, 32, 15, 5, 64, 2560, 49152},
    DecoderShape{"llama", 2048, 16, 32, 8, 64, 8192, 128256},
    DecoderShape{"llama", 3072, 28, 24, 8, 128, 8192, 128256},
    DecoderShape{"llama", 4096, 32, 32, 8, 128, 14336, 128256},
    DecoderShape{"llama", 8192, 80, 64, 8, 128, 28672, 128256},
    DecoderShape{"llama", 16384, 126, 128, 8, 128, 53248, 128256},
    DecoderShape{"mistral", 4096, 32, 32, 8, 128, 14336, 32768},
    DecoderShape{"mistral", 5120, 40, 32, 8, 128, 14336, 131072},
    DecoderShape{"mistral", 12288, 88, 96, 8, 128, 28672, 32768},
    DecoderShape{"qwen2", 896, 24, 14, 2, 64, 4864, 151936},
    DecoderShape{"qwen2", 1536, 28, 12, 2, 128, 8960, 151936},
    DecoderShape{"qwen2", 2048, 36, 16, 2, 128, 11008, 151936},
    DecoderShape{"qwen2", 3584, 28, 28, 4, 128, 18944, 152064},
    DecoderShape{"qwen2", 5120, 48, 40, 8, 128, 13824, 152064},
    DecoderShape{"qwen2", 5120, 64, 40, 8, 128, 27648, 152064},
    DecoderShape{"qwen2", 8192, 80, 64, 8, 128, 29568, 152064},
    DecoderShape{"qwen3", 1024, 28, 16, 8, 128, 3072, 151936},
    DecoderShape{"qwen3", 2048, 28, 16, 8, 128, 6144, 151936},
    DecoderShape{"qwen3", 2560, 36, 32, 8, 128, 9728, 151936},
    DecoderShape{"qwen3", 4096, 36, 32, 8, 128, 12288, 151936},
    DecoderShape{"qwen3", 5120, 40, 40, 8, 128, 17408, 151936},
    DecoderShape{"qwen3", 5120, 64, 64, 8, 128, 25600, 151936},
    DecoderShape{"qwen3moe", 2048, 48, 32, 4, 128, 768, 151936, 128, 8},
    DecoderShape{"qwen3moe", 4096, 94, 64, 4, 128, 1536, 151936, 128, 8},
    DecoderShape{"deepseek2", 7168, 61, 128, 128, 192, 18432, 129280, 256, 8},
    DecoderShape{"glm4moe", 4096, 46, 96, 8, 128, 10944, 151552, 128, 8}};

bool fits(const DecoderShape& shape, const std::string& architecture, std::uint64_t block) {
  const bool has_name = shape.architecture.empty() || shape.architecture == architecture;
  return has_name && shape.embedding % block == 0 && shape.feed_forward % block == 0 &&
         std::uint64_t{shape.heads} * shape.head_length % block == 0;
}

// Of DeepSeek V3 by its long heads; of others about as much of a head and of the embedding.
void give_latents(DecoderPlan& plan) {
  constexpr std::uint32_t head_of_v3 = 192;
  const bool is_v3 = plan.head_length == head_of_v3;
  plan.turned = is_v3 ? 64 : plan.head_length / 4;
  plan.value_length = is_v3 ? 128 : plan.head_length;
  plan.latent = is_v3 ? 512 : 256;
  plan.query_latent = is_v3 ? 1536 : 256;
  plan.dense_layers = is_v3 ? 3 : 1;
  plan.expert_feed_forward = is_v3 ? 2048 : plan.feed_forward;
  plan.shared_experts = 1;
  if (!is_v3) plan.experts = 12;
  if (!is_v3) plan.experts_used = 3;
  plan.groups = is_v3 ? 8 : 4;
  plan.groups_used = is_v3 ? 4 : 2;
}

// Of GLM-4.5-Air by its experts.
void give_shares(DecoderPlan& plan, bool is_published) {
  plan.dense_layers = 1;
  plan.expert_feed_forward = is_published ? 1408 : plan.feed_forward;
  plan.shared_experts = 1;
  plan.groups = plan.groups_used = 1;
}

void give_shape(DecoderPlan& plan, const DecoderShape& shape) {
  plan.embedding = shape.embedding;
  plan.layers = shape.layers;
  plan.heads = shape.heads;
  plan.kv_heads = shape.kv_heads;
  plan.head_length = shape.head_length;
  plan.feed_forward = shape.feed_forward;
  plan.vocabulary = shape.vocabulary;
  if (shape.experts > 0) plan.experts = shape.experts;
  if (shape.experts > 0) plan.experts_used = shape.experts_used;
  if (plan.kind->has_latents) {
    give_latents(plan);
  } else if (plan.kind->has_shares) {
    give_shares(plan, shape.experts > 0);
  }
  plan.context = context_of_shapes;
  plan.original_context = static_cast<std::uint32_t>(context_of_shapes / plan.factor);
}

/// How far a plan is from the size that was asked for: 1 for e times as much, or as little.
double distance_of(double bytes, double wanted) { return std::abs(std::log(bytes / wanted)); }

/// Gives the plan as many layers as come closest to that many bytes, of which it takes `bytes` now.
void change_layers(DecoderPlan& plan, double bytes, double wanted,
                   const std::function<double(const DecoderPlan&)>& bytes_of) {
  const double layers = plan.layers;
  plan.layers *= 2;
  const double layer_bytes = (bytes_of(plan) - bytes) / layers;
  const double nearest = layers + (wanted - bytes) / layer_bytes;
  plan.layers = static_cast<std::uint32_t>(
      std::lround(std::clamp(nearest, double{least_layers}, double{most_layers})));
}

}  // namespace

void choose_shape(DecoderPlan& plan, std::uint64_t size_bytes, std::uint64_t block,
                  const std::function<std::uint64_t(const DecoderPlan&)>& size_of) {
  const auto wanted = static_cast<double>(std::max<std::uint64_t>(size_bytes, 1));
  const auto bytes_of = [&](const DecoderPlan& one) { return static_cast<double>(size_of(one)); };
  constexpr double weight_of_size = 10;  // against the weight of another number of layers
  DecoderPlan best = plan;
  double least = std::numeric_limits<double>::infinity();
  for (const DecoderShape& shape : shapes) {
    if (!fits(shape, plan.decoder.architecture, block)) continue;
    give_shape(plan, shape);
    const double bytes = bytes_of(plan);
    double distance = distance_of(bytes, wanted);
    if (distance > near_enough) {
      change_layers(plan, bytes, wanted, bytes_of);
      distance += weight_of_size * distance_of(bytes_of(plan), wanted);
    }
    if (distance >= least) continue;
    least = distance;
    best = plan;
  }
  plan = best;
}

}  // namespace hiptool::model_writer
