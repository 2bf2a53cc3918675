// SPDX-License-Identifier: MIT
/// The stages of a model on a device beside those of the float64 reference.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "hiptool/backend.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "reference/prove/reference_decoder.hpp"
#include "support.hpp"
#include "unit/model_writer/sample_models.hpp"
#include "unit/runtime/runtime_support.hpp"

namespace hiptool::test {

inline double root_mean_square(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Compares stages with a reference whose input of each layer is the device's.
class StageComparison {
 public:
  static constexpr double bound = 1e-5;  // of a stage's root mean square

  explicit StageComparison(std::vector<Observed> observed, std::vector<std::string> skipped = {})
      : observed_(std::move(observed)), skipped_(std::move(skipped)) {}

  /// "LAYER NAME" of the first stage that is wrong, or nothing.
  std::string run(reference::ReferenceDecoder& reference, const std::vector<std::uint32_t>& ids) {
    std::vector<std::uint64_t> positions;
    for (std::size_t i = 0; i < ids.size(); ++i) positions.push_back(i);
    compare("embedding", reference.embed(ids));
    const std::size_t layers = reference.spec().layers.size();
    std::vector<double> x = device_values();
    for (std::size_t number = 0; number < layers; ++number) {
      layer_ = number;
      reference::LayerStages s;
      const std::vector<double> output = reference.layer(number, x, positions, &s);
      compare("attention_norm", s.attention_norm);
      compare_if_any("query_latent", s.query_latent);
      compare_if_any("query_latent_norm", s.query_latent_norm);
      compare_if_any("mixed_and_z", s.mixed_and_z);
      compare_if_any("mixed", s.mixed);
      compare_if_any("z", s.z);
      compare_if_any("scores_and_steps", s.scores_and_steps);
      compare_if_any("scores", s.scores);
      compare_if_any("steps", s.steps);
      compare_if_any("convolved", s.convolved);
      compare_if_any("unit_q", s.unit_q);
      compare_if_any("unit_k", s.unit_k);
      compare_if_any("decays", s.decays);
      compare_if_any("betas", s.betas);
      compare_if_any("queries_and_gates", s.queries_and_gates);
      compare_if_any("q", s.q);
      compare_if_any("latent", s.latent);
      compare_if_any("latent_norm", s.latent_norm);
      compare_if_any("keys_and_values", s.keys_and_values);
      if (s.keys_and_values.empty()) compare_if_any("k", s.k);
      compare_if_any("v", s.v);
      compare_if_any("rotated_q", s.rotated_q);
      compare_if_any("rotated_k", s.rotated_k);
      compare("attention", s.attention);
      compare_if_any("attention_heads_norm", s.attention_heads_norm);
      compare_if_any("gated_attention", s.gated_attention);
      compare("attention_output", s.attention_output);
      compare_if_any("attention_post_norm", s.attention_post_norm);
      compare("middle", s.middle);
      compare("feed_forward_norm", s.feed_forward_norm);
      compare_if_any("router", s.router);
      compare_if_any("experts", {s.experts.begin(), s.experts.end()});
      compare_if_any("expert_weights", s.expert_weights);
      compare("gate", s.gate);
      compare("up", s.up);
      compare("activation", s.activation);
      compare_if_any("expert_down", s.expert_down);
      if (!s.shared_down.empty()) compare("routed", s.routed);
      compare_if_any("shared_score", s.shared_score);
      compare_if_any("shared_gate", s.shared_gate);
      compare_if_any("shared_up", s.shared_up);
      compare_if_any("shared_activation", s.shared_activation);
      compare_if_any("shared_down", s.shared_down);
      compare_if_any("shared_gated", s.shared_gated);
      compare("down", s.down);
      compare_if_any("feed_forward_post_norm", s.feed_forward_post_norm);
      compare("output", output);
      x = device_values();
    }
    layer_.reset();
    ++at_;  // output_norm
    const DecoderSpec& spec = reference.spec();
    const std::span<const double> last =
        std::span<const double>(x).last(static_cast<std::size_t>(spec.embedding));
    if (spec.logit_scale != 1 || spec.logit_softcap != 0) {
      compare("products", reference.product(spec.output, device_values()).values);
    }
    compare("logits", reference.logits(last));
    CHECK(at_ == observed_.size());
    return first_wrong_;
  }
  double largest() const { return largest_; }

 private:
  std::vector<double> device_values() const {
    const std::vector<float>& values = observed_.at(at_ - 1).values;
    return {values.begin(), values.end()};
  }
  void compare_if_any(const std::string& name, const std::vector<double>& expected) {
    if (!expected.empty()) compare(name, expected);
  }
  void compare(const std::string& name, const std::vector<double>& expected) {
    REQUIRE(at_ < observed_.size());
    const Observed& found = observed_[at_++];
    REQUIRE(found.name == name);
    CHECK(found.layer == layer_);
    if (std::find(skipped_.begin(), skipped_.end(), name) != skipped_.end()) return;
    const double ratio = largest_difference(found.values, expected) / root_mean_square(expected);
    if (!(ratio <= largest_)) largest_ = ratio;
    if (ratio <= bound || !first_wrong_.empty()) return;
    first_wrong_ = (layer_ ? std::to_string(*layer_) + " " : "") + name;
  }

  std::vector<Observed> observed_;
  std::vector<std::string> skipped_;
  std::size_t at_ = 0;
  std::optional<std::size_t> layer_;
  std::string first_wrong_;
  double largest_ = 0;
};

/// A model on a device, and the reference of it.
struct LoadedSample {
  TemporaryFolder folder;
  Platforms platforms;
  ModelFile model;
  Backend backend;
  LoadedModel loaded;

  LoadedSample(ModelFormat format, model_writer::SampleDecoder decoder,
               std::vector<std::string> types)
      : model(made_model(folder, format, std::move(decoder), std::move(types))),
        backend(device(platforms)),
        loaded(load_model(model, backend.device())) {}

  DecoderSpec spec() const { return DecoderSpec::read(model); }

  /// The first wrong stage of a runtime with that specification.
  std::string first_wrong(const DecoderSpec& changed, double* largest = nullptr) const {
    ModelRuntime runtime(backend, loaded, changed, of_context(16));
    return first_wrong(runtime, spec(), {}, largest);
  }
  std::string first_wrong(ModelRuntime& runtime, const DecoderSpec& right,
                          std::vector<std::string> skipped, double* largest = nullptr) const {
    const std::vector<std::uint32_t> ids = prompt_ids(9);
    StageComparison comparison(observed_stages(runtime, ids), std::move(skipped));
    reference::ReferenceDecoder reference(model, right, {.sequence_tokens = 16});
    std::string wrong = comparison.run(reference, ids);
    if (largest != nullptr) *largest = std::max(*largest, comparison.largest());
    return wrong;
  }
  ModelRuntime::BuffersByName buffers() const {
    ModelRuntime::BuffersByName all;
    for (const TensorInfo& tensor : model.tensors()) {
      all.emplace(tensor.name, loaded.weight(tensor.name).bytes);
    }
    return all;
  }
};

}  // namespace hiptool::test
