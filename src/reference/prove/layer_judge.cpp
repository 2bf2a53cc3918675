// SPDX-License-Identifier: MIT
#include "reference/prove/layer_judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hiptool::reference {
namespace {

// How much of its bound an error uses up; infinite for NaN.
double share_of_bound(double expected, double got, double bound) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double error = std::abs(got - expected);
  if (error == 0) return 0;
  return error <= std::numeric_limits<double>::max() ? error / bound : infinity;
}

std::vector<double> joined(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

}  // namespace

LayerJudge::LayerJudge(const ReferenceDecoder& reference, bool follows_own,
                       std::function<void(std::uint64_t weight_bytes)> after_product)
    : reference_(reference),
      follows_own_(follows_own),
      after_product_(std::move(after_product)),
      given_caches_(reference.spec().layers.size()),
      own_caches_(reference.spec().layers.size()) {}

LayerResult& LayerJudge::result_of(std::size_t layer) {
  const auto found = std::ranges::find(layers_, layer, &LayerResult::layer);
  if (found != layers_.end()) return *found;
  layers_.push_back({layer});
  return layers_.back();
}

std::optional<WrongValue> LayerJudge::first_wrong() const {
  if (outside_ && outside_->stage == "embedding") return outside_;
  for (const LayerResult& layer : layers_) {
    if (layer.wrong) return layer.wrong;
  }
  return outside_;
}

void LayerJudge::compare(const char* stage, const std::string& tensor,
                         std::span<const double> expected, std::span<const double> bounds,
                         std::span<const double> found) {
  double highest = 0;
  std::size_t worst = 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (leaves_range(expected[i], bounds[i], found[i])) {
      if (out_of_range_.empty()) {
        out_of_range_ = place_of_stage(
            result_ != nullptr ? std::optional(result_->layer) : std::nullopt, stage);
      }
      continue;
    }
    const double share = share_of_bound(expected[i], found[i], bounds[i]);
    if (share > 1) ++wrong;
    if (share <= highest) continue;
    highest = share;
    worst = i;
  }
  if (result_ != nullptr && highest > 0) {
    const double error = std::abs(found[worst] - expected[worst]);
    // Errors of different stages compare by their share of the bound.
    if (result_->bound == 0 || !(error / bounds[worst] <= result_->max_error / result_->bound)) {
      result_->max_error = error;
      result_->bound = bounds[worst];
    }
  }
  std::optional<WrongValue>& known = result_ != nullptr ? result_->wrong : outside_;
  if (wrong == 0 || known) return;
  WrongValue value;
  if (result_ != nullptr) value.layer = result_->layer;
  value.stage = stage;
  value.tensor = tensor;
  if (!tensor.empty()) value.type = reference_.tensor(tensor).type.name();
  value.rows = expected.size() / positions_.size();
  value.position = positions_[worst / value.rows];
  value.row = worst % value.rows;
  value.expected = expected[worst];
  value.got = found[worst];
  value.bound = bounds[worst];
  value.wrong_values = wrong;
  value.values = expected.size();
  known = std::move(value);
}

// Compares the device's, and returns its own.
std::vector<double> LayerJudge::product(const char* stage, const MatrixSpec& matrix,
                                        const char* input, const std::vector<double>& own) {
  const std::vector<double>& inputs = device_->at(input);
  const Bounded all = reference_.product(matrix, joined(inputs, own),
                                         inputs.size() / static_cast<std::size_t>(matrix.columns));
  const std::vector<double>& found = device_->at(stage);
  const std::span<const double> values(all.values);
  std::optional<WrongValue>& known = result_ != nullptr ? result_->wrong : outside_;
  const bool was_wrong = known.has_value();
  compare(stage, matrix.weight, values.first(found.size()), all.bounds, found);
  if (known && !was_wrong) {
    known->first_row = matrix.first_row;
    known->tensor_rows = matrix.tensor_rows;
  }
  if (after_product_) after_product_(reference_.tensor(matrix.weight).size_bytes);
  const auto rest = values.subspan(found.size());
  return {rest.begin(), rest.end()};
}

void LayerJudge::start(std::span<const std::uint32_t> ids, std::uint64_t first_position,
                       const std::vector<double>& embedding, bool is_compared) {
  positions_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) positions_.push_back(first_position + i);
  given_ = embedding;
  if (!is_compared && !follows_own_) return;
  const std::vector<double> expected = reference_.embed(ids);
  if (follows_own_) own_ = expected;
  if (is_compared) {
    result_ = nullptr;
    const bool is_scaled = reference_.spec().embedding_scale != 1;
    const Bounded rounded = rounded_from_file(expected, is_scaled ? 1 : 0);
    compare("embedding", reference_.spec().embedding_tensor, rounded.values, rounded.bounds,
            embedding);
  }
}

void LayerJudge::layer(std::size_t number, const StageValues& device) {
  const DecoderLayer& layer = reference_.spec().layers[number];
  device_ = &device;
  result_ = &result_of(number);
  const double scale = reference_.spec().residual_scale;

  compare("attention_norm", layer.attention_norm, reference_.norm(layer.attention_norm, given_));
  const std::vector<double> normed = own_norm(layer.attention_norm, own_);
  const bool has_gate = layer.has_delta() || layer.has_output_gate;
  const std::vector<double> attended =
      layer.has_delta() ? delta_attention(number, normed) : attention(number, normed);
  std::vector<double> output = product("attention_output", layer.attention_output,
                                       has_gate ? "gated_attention" : "attention", attended);
  compare(
      "middle", "",
      summed(given_,
             added("attention_output", "attention_post_norm", layer.attention_post_norm, output),
             scale));
  own_ = summed(own_, output, scale).values;

  const bool is_parallel = reference_.spec().is_parallel;
  const std::string& norm = is_parallel ? layer.attention_norm : layer.feed_forward_norm;
  compare("feed_forward_norm", norm,
          reference_.norm(norm, is_parallel ? given_ : device.at("middle")));
  const std::vector<double> inputs = is_parallel ? normed : own_norm(norm, own_);
  std::vector<double> down = layer.has_experts() ? mix(layer.experts, inputs) : mlp(layer, inputs);
  compare(
      "output", "",
      summed(device.at("middle"),
             added("down", "feed_forward_post_norm", layer.feed_forward_post_norm, down), scale));
  own_ = summed(own_, down, scale).values;
  given_ = device.at("output");
  result_ = nullptr;
}

std::vector<double> LayerJudge::attention(std::size_t number, const std::vector<double>& normed) {
  const DecoderLayer& layer = reference_.spec().layers[number];
  const StageValues& device = *device_;
  const OwnHeads own_heads =
      layer.has_latent() ? latent_heads(layer, normed) : heads(layer, normed);
  KeyValues& given = given_caches_[number];
  given.append(device.at("rotated_k"), device.at("v"), positions_);
  compare("attention", layer.sinks, reference_.attention(layer, given, device.at("rotated_q")));
  std::vector<double> attended;
  if (follows_own_) {
    KeyValues& own = own_caches_[number];
    own.append(own_heads.k, own_heads.v, positions_);
    attended = reference_.attention(layer, own, own_heads.q).values;
  }
  if (!layer.has_output_gate) return attended;
  const auto length = static_cast<std::size_t>(reference_.spec().key_length);
  compare("gated_attention", "",
          gated_by_sigmoids(columns_of(device.at("queries_and_gates"), 2 * length, length, length),
                            device.at("attention")));
  return gated_by_sigmoids(own_heads.gates, attended).values;
}

LayerJudge::OwnHeads LayerJudge::heads(const DecoderLayer& layer,
                                       const std::vector<double>& normed) {
  std::vector<double> gates;
  const std::vector<double> q = layer.has_output_gate
                                    ? queries_of_both(layer, normed, gates)
                                    : product("q", layer.q, "attention_norm", normed);
  const std::vector<double> k = product("k", layer.k, "attention_norm", normed);
  const std::vector<double> v = product("v", layer.v, "attention_norm", normed);
  compare("rotated_q", layer.q_norm, reference_.queries(layer, device_->at("q"), positions_));
  compare("rotated_k", layer.k_norm,
          reference_.rotated(layer, device_->at("k"), layer.k_norm, positions_));
  if (!follows_own_) return {};
  return {reference_.queries(layer, q, positions_).values, own_turned(layer, k, layer.k_norm), v,
          gates};
}

// What the device adds to its x, after a norm where there is one; the same of its own values.
std::vector<double> LayerJudge::added(const char* stage, const char* norm_stage,
                                      const std::string& norm, std::vector<double>& own) {
  if (norm.empty()) return device_->at(stage);
  compare(norm_stage, norm, reference_.norm(norm, device_->at(stage)));
  if (follows_own_) own = reference_.norm(norm, own).values;
  return device_->at(norm_stage);
}

std::vector<double> LayerJudge::mlp(const DecoderLayer& layer, const std::vector<double>& inputs) {
  const std::vector<double> gate = product("gate", layer.gate, "feed_forward_norm", inputs);
  const std::vector<double> up = product("up", layer.up, "feed_forward_norm", inputs);
  compare("activation", "", gated(reference_.spec(), device_->at("gate"), device_->at("up")));
  return product("down", layer.down, "activation", gated(reference_.spec(), gate, up).values);
}

std::vector<double> LayerJudge::logits(const StageValues& device, std::size_t tokens) {
  const DecoderSpec& spec = reference_.spec();
  const auto width = static_cast<std::size_t>(spec.embedding);
  positions_ = {positions_.back()};
  std::vector<double> own;
  if (follows_own_) {
    own = reference_.norm(spec.output_norm, std::span(own_).last(tokens * width)).values;
  }
  return compare_logits(std::span(given_).last(width), device, own);
}

void LayerJudge::token_logits(std::vector<std::uint64_t> positions, std::span<const double> outputs,
                              const StageValues& device) {
  positions_ = std::move(positions);
  compare_logits(outputs, device, {});
}

std::vector<double> LayerJudge::compare_logits(std::span<const double> outputs,
                                               const StageValues& device,
                                               const std::vector<double>& own_normed) {
  const DecoderSpec& spec = reference_.spec();
  device_ = &device;
  result_ = nullptr;
  compare("output_norm", spec.output_norm, reference_.norm(spec.output_norm, outputs));
  if (spec.logit_scale == 1 && spec.logit_softcap == 0) {
    return product("logits", spec.output, "output_norm", own_normed);
  }
  const std::vector<double> products = product("products", spec.output, "output_norm", own_normed);
  compare("logits", "", scaled_logits(spec, device.at("products")));
  return scaled_logits(spec, products).values;
}

}  // namespace hiptool::reference
