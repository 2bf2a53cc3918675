// SPDX-License-Identifier: MIT
/// Small models on a device, with faults planted in weights or in what the device computes.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_runtime.hpp"
#include "reference/prove/prove.hpp"
#include "support.hpp"
#include "unit/model_writer/sample_models.hpp"

namespace hiptool::test {

inline ModelFile seeded_model(const TemporaryFolder& folder, ModelFormat format,
                              model_writer::SampleDecoder decoder, std::vector<std::string> types,
                              std::uint64_t seed,
                              const std::function<void(const ModelFile&)>& change = {}) {
  model_writer::ModelWriterOptions options;
  options.path = folder / (format == ModelFormat::gguf ? "m.gguf" : "m.safetensors");
  options.format = format;
  options.types = std::move(types);
  options.seed = seed;
  options.decoder = std::move(decoder);
  const std::filesystem::path path = model_writer::write_model(options).path;
  if (change) change(ModelFile::open(path));
  return ModelFile::open(path);
}

/// "STAGE of LAYERS": the first wrong stage, and all wrong layers; nothing where all is right.
inline std::string wrong_stage(const reference::ProveResult& result) {
  if (!result.first_wrong) return result.is_right() ? "" : "logits";
  std::string text = result.first_wrong->stage + " of";
  for (const reference::LayerResult& layer : result.layers) {
    if (layer.wrong) text += " " + std::to_string(layer.layer);
  }
  return text;
}

/// A model on a device, which prove() compares with its file.
class ProvedSample {
 public:
  /// `change`: of the file, before it is loaded.
  ProvedSample(ModelFormat format, model_writer::SampleDecoder decoder,
               std::vector<std::string> types, std::uint64_t seed = 1,
               const std::function<void(const ModelFile&)>& change = {})
      : model(seeded_model(folder_, format, std::move(decoder), std::move(types), seed, change)),
        spec(DecoderSpec::read(model)),
        backend(device(platforms_)),
        loaded(load_model(model, backend.device())) {
    for (const TensorInfo& tensor : model.tensors()) {
      weights.emplace(tensor.name, loaded.weight(tensor.name).bytes);
    }
  }

  reference::ProveResult prove(const DecoderSpec& of_runtime,
                               const reference::ProveOptions& options = {},
                               std::uint32_t tokens = 7, std::uint64_t chunk_tokens = 128) const {
    ModelRuntime::Options sizes;
    sizes.context_tokens = tokens;
    sizes.chunk_tokens = chunk_tokens;
    ModelRuntime runtime(backend, model, weights, of_runtime, sizes);
    const reference::ReferenceDecoder reference(model, spec, {.sequence_tokens = tokens});
    return reference::prove(runtime, reference, prompt_ids(tokens), options);
  }
  reference::ProveResult prove() const { return prove(spec); }

  /// Changes bytes of a tensor in device memory.
  void change(const std::string& tensor, const std::function<void(std::span<std::byte>)>& work) {
    const Buffer& old = weights.at(tensor);
    std::vector<std::byte> bytes(static_cast<std::size_t>(old.size_bytes()));
    copy_d2h_and_wait(bytes, old);
    work(bytes);
    Buffer changed(backend.device(), old.size_bytes());
    copy_h2d_and_wait(changed, bytes);
    weights.at(tensor) = changed;
  }
  void restore(const std::string& tensor) { weights.at(tensor) = loaded.weight(tensor).bytes; }

 private:
  TemporaryFolder folder_;
  Platforms platforms_;

 public:
  ModelFile model;
  DecoderSpec spec;
  Backend backend;
  LoadedModel loaded;
  ModelRuntime::BuffersByName weights;
};

inline void write_values(const Backend& backend, const Tensor& tensor,
                         const std::vector<double>& values) {
  const std::vector<float> numbers(values.begin(), values.end());
  Tensor same = tensor;
  same.copy_from_host(std::span<const float>(numbers), backend.stream());
}

/// A faulty attention or rotation in place of the device's, in one layer.
class FaultyLayer {
 public:
  using Exponential = std::function<double(double)>;

  FaultyLayer(const ProvedSample& sample, std::size_t layer) : sample_(sample), layer_(layer) {}

  bool uses_other_heads = false;  ///< KV head i mod K in place of i div group
  bool misses_last_key = false;
  bool turns_backwards = false;  ///< q and k
  bool has_wrong_exponential = false;
  bool computes_in_half = false;

  ModelRuntime::Probe probe() {
    return [this](const DecoderStage& stage) { change(stage); };
  }

 private:
  std::vector<double> values_of(const DecoderStage& stage) const {
    const std::vector<float> numbers = stage.values.to_host<float>(sample_.backend.stream());
    return {numbers.begin(), numbers.end()};
  }

  static double exponential(double x, bool is_wrong) {
    return std::exp(x) * (is_wrong ? 1 + 1e-4 * std::cos(1000 * x) : 1);
  }

  static double rounded_to_half(double x) {
    int exponent = 0;
    const double mantissa = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(mantissa, 11)), exponent - 11);
  }

  void change(const DecoderStage& stage) {
    if (stage.layer != layer_) return;
    if (stage.position == 0 && stage.name == "attention_norm") {
      keys_.clear();
      v_.clear();
    }
    std::vector<double> values = values_of(stage);
    if (computes_in_half) {
      for (double& value : values) value = rounded_to_half(value);
      write_values(sample_.backend, stage.values, values);
    }
    if (stage.name == "q" || stage.name == "k") heads_ = values;
    if (turns_backwards && stage.name.starts_with("rotated")) turn(stage, values);
    if (stage.name == "rotated_q") q_ = values;
    if (stage.name == "rotated_k") keys_.insert(keys_.end(), values.begin(), values.end());
    if (stage.name == "v") v_.insert(v_.end(), values.begin(), values.end());
    const bool attends = uses_other_heads || misses_last_key || has_wrong_exponential;
    if (attends && stage.name == "attention") attend(stage, values);
    if (has_wrong_exponential && stage.name == "gate") gate_ = values;
    if (has_wrong_exponential && stage.name == "up") up_ = values;
    if (has_wrong_exponential && stage.name == "activation") {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = gate_[i] / (1 + exponential(-gate_[i], true)) * up_[i];
      }
      write_values(sample_.backend, stage.values, values);
    }
  }

  // Turned values of a rotation by -angle: the elements in the other order of a pair.
  void turn(const DecoderStage& stage, std::vector<double>& values) {
    const auto length = static_cast<std::size_t>(sample_.spec.key_length);
    const std::size_t pairs = static_cast<std::size_t>(sample_.spec.rope.dimensions) / 2;
    const bool has_halves = sample_.spec.rope.pairs == RopePairs::halves;
    for (std::size_t at = 0; at < values.size(); at += length) {
      for (std::size_t pair = 0; pair < pairs; ++pair) {
        const std::size_t first = at + (has_halves ? pair : 2 * pair);
        const std::size_t second = has_halves ? first + pairs : first + 1;
        // With z the pair as a complex number, z e^(-ia) is z^2 over z e^(ia).
        const double a = heads_[first], b = heads_[second];
        const double c = values[first], d = values[second];
        const double size = c * c + d * d;
        values[first] = ((a * a - b * b) * c + 2 * a * b * d) / size;
        values[second] = (2 * a * b * c - (a * a - b * b) * d) / size;
      }
    }
    write_values(sample_.backend, stage.values, values);
  }

  void attend(const DecoderStage& stage, std::vector<double>& values) {
    const DecoderLayer& layer = sample_.spec.layers[layer_];
    const auto heads = static_cast<std::size_t>(layer.heads);
    const auto kv_heads = static_cast<std::size_t>(layer.kv_heads);
    const auto length = static_cast<std::size_t>(sample_.spec.key_length);
    const std::size_t tokens = values.size() / (heads * length);
    for (std::size_t token = 0; token < tokens; ++token) {
      const std::size_t position = static_cast<std::size_t>(stage.position) + token;
      std::size_t end = position + 1;
      if (misses_last_key && end > 1) --end;
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t shared = uses_other_heads ? head % kv_heads : head / (heads / kv_heads);
        const double* const query = q_.data() + (token * heads + head) * length;
        double* const out = values.data() + (token * heads + head) * length;
        std::fill(out, out + length, 0.0);
        std::vector<double> scores;
        for (std::size_t j = 0; j < end; ++j) {
          const double* const key = keys_.data() + (j * kv_heads + shared) * length;
          double score = 0;
          for (std::size_t i = 0; i < length; ++i) score += query[i] * key[i];
          scores.push_back(score * sample_.spec.attention_scale);
        }
        const double highest = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double& score : scores) {
          sum += score = exponential(score - highest, has_wrong_exponential);
        }
        for (std::size_t j = 0; j < end; ++j) {
          const double* const value = v_.data() + (j * kv_heads + shared) * length;
          for (std::size_t i = 0; i < length; ++i) out[i] += scores[j] / sum * value[i];
        }
      }
    }
    write_values(sample_.backend, stage.values, values);
  }

  const ProvedSample& sample_;
  std::size_t layer_;
  std::vector<double> heads_, q_, keys_, v_, gate_, up_;
};

}  // namespace hiptool::test
