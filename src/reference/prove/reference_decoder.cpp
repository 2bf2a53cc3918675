// SPDX-License-Identifier: MIT
#include "reference/prove/reference_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "model/decoder_parts.hpp"
#include "reference/prove/parallel.hpp"
#include "reference/prove/rope_frequencies.hpp"
#include "reference/prove/shares.hpp"

namespace hiptool::reference {
namespace {

void require(bool is_met, const std::string& message) {
  if (is_met) return;
  throw Error(ErrorCode::invalid_argument, "compute the reference", message,
              "give tokens, positions and inputs of one sequence");
}

std::uint32_t chosen_threads(std::uint32_t wanted) {
  return wanted > 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
}

std::vector<double> values_in_range(std::size_t layer, const char* stage, Bounded all) {
  if (leaves_range(all)) throw leaves_range_error(place_of_stage(layer, stage));
  return std::move(all.values);
}

std::vector<double> chosen_divisors(const RopeSpec& rope, const Weights& weights,
                                    std::uint64_t tokens) {
  const bool is_long = rope.scaling == RopeScaling::longrope && tokens > rope.original_context;
  const std::string& tensor = is_long ? rope.long_divisors_tensor : rope.divisors_tensor;
  if (!tensor.empty()) return weights.vector(tensor);
  return is_long ? rope.long_divisors : rope.divisors;
}

}  // namespace

ReferenceDecoder::ReferenceDecoder(const ModelFile& model, DecoderSpec spec,
                                   const ReferenceOptions& options)
    : spec_(std::move(spec)),
      weights_(model, chosen_threads(options.threads), options.cancel),
      cancel_(options.cancel),
      caches_(spec_.layers.size()) {
  check_weights();
  if (spec_.rope.scaling == RopeScaling::dynamic &&
      options.sequence_tokens > spec_.rope.original_context) {
    throw Error(ErrorCode::input_failed, "compute the reference",
                model.path().string() + ": beyond " + std::to_string(spec_.rope.original_context) +
                    " tokens its dynamic rope scaling changes with each token",
                "use a shorter prompt");
  }
  frequencies_ =
      rope_frequencies(spec_.rope, chosen_divisors(spec_.rope, weights_, options.sequence_tokens));
  if (std::ranges::any_of(spec_.layers, &DecoderLayer::has_local_rope)) {
    local_frequencies_ = rope_frequencies(
        spec_.local_rope, chosen_divisors(spec_.local_rope, weights_, options.sequence_tokens));
  }
}

void ReferenceDecoder::check_weights() const {
  const auto check_vector = [&](const std::string& tensor) {
    if (!tensor.empty()) weights_.check(tensor, 1);
  };
  const auto check_matrix = [&](const MatrixSpec& matrix) {
    weights_.check(matrix.weight, matrix.columns);
    check_vector(matrix.bias);
    check_vector(matrix.scales);
  };
  weights_.check(spec_.embedding_tensor, spec_.embedding);
  check_matrix(spec_.output);
  for (const std::string& tensor :
       {spec_.output_norm, spec_.rope.divisors_tensor, spec_.rope.long_divisors_tensor}) {
    check_vector(tensor);
  }
  for (const DecoderLayer& layer : spec_.layers) {
    for (const MatrixSpec* matrix : model::matrices_of(layer)) check_matrix(*matrix);
    for (const ExpertMatrices* experts : model::expert_matrices_of(layer)) {
      if (experts->scales.empty()) {
        for (const std::string& tensor : experts->weights) weights_.check(tensor, experts->columns);
      }
      for (const std::string& tensor : experts->block_scales) check_vector(tensor);
      check_vector(experts->bias);
    }
    for (const model::VectorPart& part : model::vectors_of(spec_, layer)) {
      check_vector(*part.tensor);
    }
  }
}

std::vector<double> ReferenceDecoder::embed(std::span<const std::uint32_t> ids) const {
  MatrixSpec embedding;
  embedding.weight = spec_.embedding_tensor;
  embedding.rows = spec_.vocabulary;
  embedding.columns = spec_.embedding;
  std::vector<double> outputs;
  for (const std::uint32_t id : ids) {
    require(id < spec_.vocabulary, "token " + std::to_string(id) + " is not in the vocabulary of " +
                                       std::to_string(spec_.vocabulary));
    const std::vector<double> row = weights_.row(embedding, id);
    for (const double value : row) outputs.push_back(value * spec_.embedding_scale);
  }
  return outputs;
}

void KeyValues::append(std::span<const double> new_keys, std::span<const double> new_values,
                       std::span<const std::uint64_t> new_positions) {
  keys.insert(keys.end(), new_keys.begin(), new_keys.end());
  values.insert(values.end(), new_values.begin(), new_values.end());
  positions.insert(positions.end(), new_positions.begin(), new_positions.end());
}

Bounded ReferenceDecoder::norm(const std::string& weight, std::span<const double> inputs,
                               double epsilon) const {
  if (weight.empty()) return without_error(inputs);
  std::vector<double> factors = weights_.vector(weight);
  for (double& factor : factors) factor += spec_.norm_offset;
  return spec_.has_layer_norms ? bounded_layer_norms(inputs, factors, epsilon)
                               : bounded_norms(inputs, factors, epsilon);
}

Bounded ReferenceDecoder::product(const MatrixSpec& matrix, std::span<const double> inputs,
                                  std::size_t bounded_inputs) const {
  Bounded result;
  result.values = weights_.product(matrix, inputs, &result.bounds, bounded_inputs);
  const auto terms = static_cast<std::size_t>(matrix.columns) + (matrix.bias.empty() ? 0u : 1u);
  for (std::size_t i = 0; i < result.bounds.size(); ++i) {
    result.bounds[i] = sum_bound(terms, std::sqrt(result.bounds[i]), result.values[i]);
  }
  return result;
}

Bounded ReferenceDecoder::expert_product(const ExpertMatrices& matrices, const ExpertsSpec& experts,
                                         std::span<const std::uint32_t> ids,
                                         std::span<const double> inputs) const {
  Bounded result;
  result.values = weights_.expert_product(matrices, experts.count, ids, inputs, &result.bounds);
  const auto terms = static_cast<std::size_t>(matrices.columns) + (matrices.bias.empty() ? 0u : 1u);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.bounds[i] = sum_bound(terms, std::sqrt(result.bounds[i]), result.values[i]);
  }
  return result;
}

Bounded ReferenceDecoder::transposed_product(const MatrixSpec& matrix, const DecoderLayer& layer,
                                             std::span<const double> inputs) const {
  Bounded result;
  result.values = weights_.transposed_product(matrix, static_cast<std::size_t>(layer.heads), inputs,
                                              &result.bounds);
  const auto terms = static_cast<std::size_t>(layer.latent.length);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.bounds[i] = sum_bound(terms, std::sqrt(result.bounds[i]), result.values[i]);
  }
  return result;
}

Bounded ReferenceDecoder::choices(const ExpertsSpec& experts, const Bounded& scores) const {
  std::vector<double> bias;
  if (!experts.choice_bias.empty()) bias = weights_.vector(experts.choice_bias);
  return choices_of(experts, scores, bias);
}

Bounded ReferenceDecoder::rotated(const DecoderLayer& layer, std::span<const double> heads,
                                  const std::string& norm_weight,
                                  std::span<const std::uint64_t> positions) const {
  Bounded turned = norm(norm_weight, heads);
  if (!layer.has_rope) return turned;
  const bool is_local = layer.has_local_rope;
  turn_heads(is_local ? spec_.local_rope : spec_.rope, is_local ? local_frequencies_ : frequencies_,
             static_cast<std::size_t>(spec_.key_length), positions,
             layer.has_latent() ? spec_.key_length - spec_.rope.dimensions : 0, turned);
  return turned;
}

Bounded ReferenceDecoder::queries(const DecoderLayer& layer, std::span<const double> heads,
                                  std::span<const std::uint64_t> positions) const {
  Bounded all = rotated(layer, heads, layer.q_norm, positions);
  const std::size_t width = heads.size() / positions.size();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double factor = temperature_of(spec_, positions[i]);
    if (factor == 1) continue;
    const auto row_of = [&](const std::vector<double>& numbers) {
      const auto row = std::span(numbers).subspan(i * width, width);
      return std::vector<double>(row.begin(), row.end());
    };
    Bounded row{row_of(all.values), row_of(all.bounds)};
    scale_by(factor, row);
    const auto at = static_cast<std::ptrdiff_t>(i * width);
    std::ranges::copy(row.values, all.values.begin() + at);
    std::ranges::copy(row.bounds, all.bounds.begin() + at);
  }
  return all;
}

Bounded ReferenceDecoder::attention(const DecoderLayer& layer, const KeyValues& cache,
                                    std::span<const double> queries) const {
  const auto heads = static_cast<std::size_t>(layer.heads);
  const auto kv_heads = static_cast<std::size_t>(layer.kv_heads);
  const auto key_length = static_cast<std::size_t>(spec_.key_length);
  const auto value_length = static_cast<std::size_t>(spec_.value_length);
  const std::size_t tokens = queries.size() / (heads * key_length);
  const std::size_t before = cache.positions.size() - tokens;
  const std::size_t count = tokens * heads * value_length;
  Bounded outputs{std::vector<double>(count), std::vector<double>(count)};
  std::vector<double> sinks;
  if (!layer.sinks.empty()) sinks = weights_.vector(layer.sinks);
  run_parallel(weights_.threads(), tokens * heads, [&](std::size_t item) {
    if (cancel_ != nullptr) cancel_->throw_if_cancelled("compute the reference");
    const std::size_t visible = before + item / heads + 1;
    const std::size_t kv_head = item % heads / (heads / kv_heads);
    const std::uint64_t position = cache.positions[visible - 1];
    std::size_t first = 0;
    while (layer.window > 0 && position - cache.positions[first] >= layer.window) ++first;
    Attended seen{cache.keys.data() + (first * kv_heads + kv_head) * key_length,
                  cache.values.data() + (first * kv_heads + kv_head) * value_length,
                  visible - first,
                  kv_heads * key_length,
                  kv_heads * value_length,
                  key_length,
                  value_length};
    if (!sinks.empty()) seen.sink = sinks[item % heads];
    seen.softcap = spec_.attention_softcap;
    attend_head(seen, queries.data() + item * key_length, spec_.attention_scale,
                outputs.values.data() + item * value_length,
                outputs.bounds.data() + item * value_length);
  });
  return outputs;
}

std::vector<double> ReferenceDecoder::layer(std::size_t number, std::span<const double> inputs,
                                            std::span<const std::uint64_t> positions,
                                            LayerStages* stages,
                                            std::span<const std::uint32_t> of_device) {
  require(number < spec_.layers.size(), "there is no layer " + std::to_string(number));
  require(!positions.empty() && inputs.size() == positions.size() * spec_.embedding,
          std::to_string(inputs.size()) + " inputs do not fit " + std::to_string(positions.size()) +
              " positions");
  require(
      of_device.empty() || of_device.size() == positions.size() * spec_.layers[number].experts.used,
      std::to_string(of_device.size()) + " experts do not fit " + std::to_string(positions.size()) +
          " positions");
  const KeyValues& cache = caches_[number];
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::uint64_t* last = cache.positions.empty() ? nullptr : &cache.positions.back();
    if (i > 0) last = &positions[i - 1];
    require(last == nullptr || positions[i] > *last, "positions do not ascend");
  }
  const DecoderLayer& layer = spec_.layers[number];
  LayerStages local;
  LayerStages& s = stages != nullptr ? *stages : local;

  const auto in_range = [number](const char* stage, Bounded all) {
    return values_in_range(number, stage, std::move(all));
  };
  const auto product = [&](const char* stage, const MatrixSpec& matrix,
                           const std::vector<double>& values) {
    return in_range(stage, without_error(weights_.product(matrix, values)));
  };

  s.attention_norm = in_range("attention_norm", norm(layer.attention_norm, inputs));
  if (layer.has_delta()) {
    follow_state(number, s, positions);
  } else {
    attend(number, s, positions);
  }
  s.attention_output =
      product("attention_output", layer.attention_output,
              layer.has_delta() || layer.has_output_gate ? s.gated_attention : s.attention);
  if (!layer.attention_post_norm.empty()) {
    s.attention_post_norm =
        in_range("attention_post_norm", norm(layer.attention_post_norm, s.attention_output));
  }
  s.middle = in_range(
      "middle",
      summed(inputs, layer.attention_post_norm.empty() ? s.attention_output : s.attention_post_norm,
             spec_.residual_scale));

  s.feed_forward_norm =
      spec_.is_parallel ? s.attention_norm
                        : in_range("feed_forward_norm", norm(layer.feed_forward_norm, s.middle));
  feed_forward(number, s, of_device);
  const double scale = spec_.residual_scale;
  if (layer.feed_forward_post_norm.empty()) {
    return in_range("output", summed(s.middle, s.down, scale));
  }
  s.feed_forward_post_norm =
      in_range("feed_forward_post_norm", norm(layer.feed_forward_post_norm, s.down));
  return in_range("output", summed(s.middle, s.feed_forward_post_norm, scale));
}

void ReferenceDecoder::attend(std::size_t number, LayerStages& s,
                              std::span<const std::uint64_t> positions) {
  const DecoderLayer& layer = spec_.layers[number];
  const auto of_key = static_cast<std::size_t>(spec_.key_length);
  const auto in_range = [number](const char* stage, Bounded all) {
    return values_in_range(number, stage, std::move(all));
  };
  const auto product = [&](const char* stage, const MatrixSpec& matrix,
                           const std::vector<double>& values) {
    return in_range(stage, without_error(weights_.product(matrix, values)));
  };
  if (layer.has_latent()) {
    project_latents(number, s);
  } else {
    s.q = product(layer.has_output_gate ? "queries_and_gates" : "q", layer.q, s.attention_norm);
    if (layer.has_output_gate) {
      s.queries_and_gates = s.q;
      s.q = columns_of(s.queries_and_gates, 2 * of_key, 0, of_key);
    }
    s.k = product("k", layer.k, s.attention_norm);
    s.v = product("v", layer.v, s.attention_norm);
  }
  s.rotated_q = in_range("rotated_q", queries(layer, s.q, positions));
  const std::vector<double>& keys =
      layer.has_latent() ? latent_keys(spec_, layer, s.k, s.latent) : s.k;
  s.rotated_k = in_range("rotated_k", rotated(layer, keys, layer.k_norm, positions));
  KeyValues& cache = caches_[number];
  cache.append(s.rotated_k, s.v, positions);
  s.attention = in_range("attention", attention(layer, cache, s.rotated_q));
  if (!layer.has_output_gate) return;
  s.gated_attention = in_range(
      "gated_attention",
      gated_by_sigmoids(columns_of(s.queries_and_gates, 2 * of_key, of_key, of_key), s.attention));
}

// DeepSeek V2 (2024), section 2.1.2.
void ReferenceDecoder::project_latents(std::size_t number, LayerStages& s) const {
  const DecoderLayer& layer = spec_.layers[number];
  const LatentSpec& latent = layer.latent;
  const auto length = static_cast<std::size_t>(latent.length);
  const auto of_value = static_cast<std::size_t>(spec_.value_length);
  const auto plain = static_cast<std::size_t>(spec_.key_length - spec_.rope.dimensions);
  const auto in_range = [number](const char* stage, Bounded all) {
    return values_in_range(number, stage, std::move(all));
  };
  const auto product = [&](const char* stage, const MatrixSpec& matrix,
                           const std::vector<double>& values) {
    return in_range(stage, without_error(weights_.product(matrix, values)));
  };
  if (latent.query_length > 0) {
    s.query_latent = product("query_latent", latent.query_down, s.attention_norm);
    s.query_latent_norm =
        in_range("query_latent_norm", norm(latent.query_norm, s.query_latent, latent.norm_epsilon));
  }
  s.q = product("q", layer.q, latent.query_length > 0 ? s.query_latent_norm : s.attention_norm);
  s.latent = product("latent", latent.down, s.attention_norm);
  const std::size_t width = length + static_cast<std::size_t>(spec_.rope.dimensions);
  s.latent_norm = in_range("latent_norm", norm(latent.norm, columns_of(s.latent, width, 0, length),
                                               latent.norm_epsilon));
  if (latent.up.weight.empty()) {
    s.k = in_range("k", transposed_product(latent.k_up, layer, s.latent_norm));
    s.v = product("v", latent.v_up, s.latent_norm);
    return;
  }
  s.keys_and_values = product("keys_and_values", latent.up, s.latent_norm);
  s.k = columns_of(s.keys_and_values, plain + of_value, 0, plain);
  s.v = columns_of(s.keys_and_values, plain + of_value, plain, of_value);
}

void ReferenceDecoder::feed_forward(std::size_t number, LayerStages& s,
                                    std::span<const std::uint32_t> of_device) const {
  const DecoderLayer& layer = spec_.layers[number];
  const auto in_range = [number](const char* stage, Bounded all) {
    return values_in_range(number, stage, std::move(all));
  };
  const auto product = [&](const char* stage, const MatrixSpec& matrix,
                           const std::vector<double>& values) {
    return in_range(stage, without_error(weights_.product(matrix, values)));
  };
  if (!layer.has_experts()) {
    s.gate = product("gate", layer.gate, s.feed_forward_norm);
    s.up = product("up", layer.up, s.feed_forward_norm);
    s.activation = in_range("activation", gated(spec_, s.gate, s.up));
    s.down = product("down", layer.down, s.activation);
    return;
  }
  const ExpertsSpec& experts = layer.experts;
  const auto used = static_cast<std::size_t>(experts.used);
  const auto of_experts = [&](const char* stage, const ExpertMatrices& matrices,
                              const std::vector<double>& values) {
    return in_range(
        stage, without_error(weights_.expert_product(matrices, experts.count, s.experts, values)));
  };
  s.router = product("router", experts.router, s.feed_forward_norm);
  s.experts = of_device.empty()
                  ? chosen_experts(experts, choices(experts, without_error(s.router)).values)
                  : followed_experts(experts, this->product(experts.router, s.feed_forward_norm),
                                     of_device);
  s.expert_weights = routed_weights(experts, s.router, s.experts).values;
  s.gate = of_experts("gate", experts.gate, s.feed_forward_norm);
  s.up = of_experts("up", experts.up, s.feed_forward_norm);
  s.activation = in_range("activation", gated(spec_, s.gate, s.up));
  s.expert_down = of_experts("expert_down", experts.down, s.activation);
  s.routed = in_range("routed", expert_sums(s.expert_down, s.expert_weights, used));
  s.down = s.routed;
  if (!experts.has_shared()) return;
  const bool has_score = !experts.shared_score.weight.empty();
  if (has_score) {
    s.shared_score = product("shared_score", experts.shared_score, s.feed_forward_norm);
  }
  s.shared_gate = product("shared_gate", experts.shared_gate, s.feed_forward_norm);
  s.shared_up = product("shared_up", experts.shared_up, s.feed_forward_norm);
  s.shared_activation = in_range("shared_activation", gated(spec_, s.shared_gate, s.shared_up));
  s.shared_down = product("shared_down", experts.shared_down, s.shared_activation);
  if (has_score) {
    s.shared_gated = in_range("shared_gated", scored(s.shared_score, s.shared_down));
  }
  s.down = in_range("down", summed(s.routed, has_score ? s.shared_gated : s.shared_down));
}

std::vector<double> ReferenceDecoder::logits(std::span<const double> outputs) const {
  require(!outputs.empty() && outputs.size() % spec_.embedding == 0,
          std::to_string(outputs.size()) + " outputs are not whole tokens");
  const Bounded norms = norm(spec_.output_norm, outputs);
  Bounded logits;
  if (!leaves_range(norms)) logits = without_error(weights_.product(spec_.output, norms.values));
  if (logits.values.empty() || leaves_range(logits)) {
    throw leaves_range_error(place_of_stage(std::nullopt, "logits"));
  }
  return scaled_logits(spec_, logits.values).values;
}

std::vector<double> ReferenceDecoder::decode(std::span<const std::uint32_t> ids) {
  require(!ids.empty(), "there are no tokens");
  const std::vector<std::uint64_t>& seen = caches_.front().positions;
  std::vector<std::uint64_t> positions;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    positions.push_back((seen.empty() ? 0 : seen.back() + 1) + i);
  }
  std::vector<double> x = embed(ids);
  for (std::size_t number = 0; number < spec_.layers.size(); ++number) {
    x = layer(number, x, positions);
  }
  const auto width = static_cast<std::size_t>(spec_.embedding);
  return logits(std::span(x).last(width));
}

void ReferenceDecoder::reset() {
  for (KeyValues& cache : caches_) cache = {};
}

std::vector<double> columns_of(std::span<const double> all, std::size_t width, std::size_t first,
                               std::size_t count) {
  std::vector<double> part;
  for (std::size_t at = 0; at < all.size(); at += width) {
    const auto own = all.subspan(at + first, count);
    part.insert(part.end(), own.begin(), own.end());
  }
  return part;
}

std::vector<double> latent_keys(const DecoderSpec& spec, const DecoderLayer& layer,
                                std::span<const double> own, std::span<const double> latent) {
  const auto turned = static_cast<std::size_t>(spec.rope.dimensions);
  const std::size_t plain = static_cast<std::size_t>(spec.key_length) - turned;
  const auto heads = static_cast<std::size_t>(layer.heads);
  const auto length = static_cast<std::size_t>(layer.latent.length);
  std::vector<double> keys;
  for (std::size_t at = 0; at < own.size(); at += plain) {
    const auto shared = latent.subspan(at / plain / heads * (length + turned) + length, turned);
    const auto first = own.subspan(at, plain);
    keys.insert(keys.end(), first.begin(), first.end());
    keys.insert(keys.end(), shared.begin(), shared.end());
  }
  return keys;
}

std::string place_of_stage(std::optional<std::size_t> layer, std::string_view stage) {
  return (layer ? "layer " + std::to_string(*layer) : std::string("the model's ends")) + " (" +
         std::string(stage) + ")";
}

Error leaves_range_error(const std::string& place) {
  return Error(ErrorCode::input_failed, "prove",
               "the model's activations leave the range of f32 in " + place +
                   ": every device that computes right gives infinity, NaN or 0 there",
               "check how the model was converted; a correct copy stays below 3.4e38");
}

}  // namespace hiptool::reference
