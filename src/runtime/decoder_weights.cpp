// SPDX-License-Identifier: MIT
#include "runtime/decoder_weights.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops.hpp"
#include "model/decoder_parts.hpp"
#include "runtime/decoder_places.hpp"
#include "runtime/decoder_scales.hpp"

namespace hiptool::runtime {
namespace {

[[noreturn]] void refuse_size(const std::string& tensor, const std::string& wanted) {
  throw Error(ErrorCode::invalid_argument, "make runtime",
              "weight '" + tensor + "': the tensor does not have the specification's " + wanted,
              "read the specification from the model that was loaded");
}

/// Finds and checks the parts of a step on its device.
class PartFinder {
 public:
  PartFinder(const Backend& backend, const FindWeight& find) : backend_(backend), find_(find) {}

  ops::QuantisedTensor matrix(const std::string& tensor, std::uint64_t rows,
                              std::uint64_t columns) const {
    const Weight weight = sized(tensor, rows, columns);
    try {
      return {weight.bytes, weight.type, rows, columns};
    } catch (const Error& error) {
      throw error.with_context("weight '" + tensor + "'");
    }
  }
  Tensor vector(const std::string& tensor, std::uint64_t count) const {
    return find_vector(backend_, find_, tensor, count);
  }
  std::optional<Tensor> named_vector(const std::string& tensor, std::uint64_t count) const {
    if (tensor.empty()) return std::nullopt;
    return vector(tensor, count);
  }
  /// A norm's weights with the offset.
  Tensor norm(const std::string& tensor, std::uint64_t count, double offset) const {
    const Tensor weights = vector(tensor, count);
    return offset == 0 ? weights : ops::affine(backend_, weights, 1.0, offset);
  }
  DeviceMatrix product(const MatrixSpec& spec) const {
    return {part(spec), named_vector(spec.bias, spec.rows)};
  }

  std::optional<DeviceMatrix> named_product(const MatrixSpec& spec) const {
    if (spec.weight.empty()) return std::nullopt;
    return product(spec);
  }

  /// x / |x| is the RMS norm of n elements over sqrt(n); q is divided by sqrt(n) besides.
  DeltaWeights delta(const DeltaSpec& spec) const {
    const auto length = static_cast<std::size_t>(spec.key_length);
    const double root = std::sqrt(static_cast<double>(length));
    const auto all = [&](double number) {
      const std::vector<float> same(length, static_cast<float>(number));
      return Tensor::from_host({backend_.allocator(), backend_.stream()}, same, {length});
    };
    return {product(spec.mixed),
            product(spec.scores),
            named_product(spec.z),
            named_product(spec.steps),
            vector(spec.convolution, spec.channels() * spec.taps),
            vector(spec.decay_log, spec.value_heads),
            vector(spec.step_bias, spec.value_heads),
            vector(spec.norm, spec.value_length),
            all(1 / (root * root)),
            all(1 / root)};
  }

  DeviceExpertMatrices expert_products(const ExpertMatrices& spec, std::uint64_t experts) const {
    const std::uint64_t rows = spec.row_step * spec.rows;
    std::optional<ops::ExpertBias> bias;
    if (!spec.bias.empty()) {
      bias = {vector(spec.bias, experts * rows).with_layout(Layout{experts, rows}), spec.first_row,
              spec.row_step};
    }
    if (!spec.scales.empty()) return {ops::ExpertTensors(backend_, packed(spec, experts)), bias};
    return {ops::ExpertTensors(backend_, expert_matrices(spec, experts), experts), bias};
  }

  void check_vector(const std::string& tensor, std::uint64_t count) const {
    if (!tensor.empty()) matrix(tensor, 1, count);
  }
  void check_product(const MatrixSpec& spec) const {
    const std::uint64_t rows = spec.tensor_rows > 0 ? spec.tensor_rows : spec.rows;
    if (spec.scales.empty()) {
      matrix(spec.weight, rows, spec.columns);
    } else {
      check_scaled(spec.weight, spec.scales, scaled_shape(spec, rows));
    }
    check_vector(spec.bias, spec.rows);
  }
  void check_expert_products(const ExpertMatrices& spec, std::uint64_t experts) const {
    for (std::size_t i = 0; i < spec.block_scales.size(); ++i) {
      check_scaled(spec.weights.at(i), spec.block_scales[i], scaled_shape(spec, spec.rows));
    }
    if (!spec.scales.empty()) {
      packed(spec, experts);
    } else if (spec.tensor_rows > 0) {
      matrix(spec.weights.front(), experts * spec.tensor_rows, spec.columns);
    } else if (spec.block_scales.empty()) {
      expert_matrices(spec, experts);
    }
    check_vector(spec.bias, experts * spec.row_step * spec.rows);
  }

 private:
  Weight sized(const std::string& tensor, std::uint64_t rows, std::uint64_t columns) const {
    Weight weight = find_(tensor, backend_.device());
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : weight.shape) elements *= extent;
    if (elements == rows * columns) return weight;
    refuse_size(tensor, std::to_string(rows) + " x " + std::to_string(columns) + " elements");
  }

  template <class Spec>
  static ScaledShape scaled_shape(const Spec& spec, std::uint64_t rows) {
    return {rows, spec.columns, spec.block_rows, spec.block_columns};
  }
  Buffer codes(const std::string& tensor, const ScaledShape& shape) const {
    const Weight weight = sized(tensor, shape.rows, shape.columns);
    if (weight.type.name() == "F8_E4M3") return weight.bytes;
    refuse_size(tensor, "type F8_E4M3");
  }
  void check_scaled(const std::string& tensor, const std::string& scales,
                    const ScaledShape& shape) const {
    if (shape.block_rows == 0 || shape.block_columns == 0) refuse_size(tensor, "blocks");
    codes(tensor, shape);
    check_vector(scales, shape.row_blocks() * shape.column_blocks());
  }
  ops::QuantisedTensor scaled(const std::string& tensor, const std::string& scales,
                              const ScaledShape& shape) const {
    const std::uint64_t blocks = shape.row_blocks() * shape.column_blocks();
    return expand_scaled(backend_, codes(tensor, shape), vector(scales, blocks), shape);
  }
  ops::QuantisedTensor whole_matrix(const MatrixSpec& spec, std::uint64_t rows) const {
    if (spec.scales.empty()) return matrix(spec.weight, rows, spec.columns);
    return scaled(spec.weight, spec.scales, scaled_shape(spec, rows));
  }

  // Rows that begin where kernels cannot read are copied.
  ops::QuantisedTensor part(const MatrixSpec& spec) const {
    if (spec.tensor_rows == 0) return whole_matrix(spec, spec.rows);
    // Of an expanded tensor only these rows are kept.
    return rows_of(whole_matrix(spec, spec.tensor_rows), spec.first_row, spec.rows,
                   !spec.scales.empty());
  }
  ops::QuantisedTensor rows_of(const ops::QuantisedTensor& whole, std::uint64_t first,
                               std::uint64_t count, bool is_copied) const {
    constexpr std::uint64_t alignment = 16;
    const std::uint64_t begin = first * whole.row_bytes();
    Buffer rows = whole.blocks().view(begin, count * whole.row_bytes());
    if (begin % alignment != 0 || is_copied) {
      Buffer copy(backend_.device(), rows.size_bytes());
      copy_d2d(copy, rows, backend_.stream());
      rows = copy;
    }
    return {rows, whole.type(), count, whole.columns()};
  }

  ops::ExpertTensors::Packed packed(const ExpertMatrices& spec, std::uint64_t experts) const {
    const auto bytes_of = [&](const std::string& tensor) {
      const Weight weight = find_(tensor, backend_.device());
      if (weight.type.name() == "U8") return weight.bytes;
      refuse_size(tensor, "type U8");
    };
    return {bytes_of(spec.weights.front()),
            bytes_of(spec.scales),
            experts,
            spec.rows,
            spec.columns,
            spec.first_row,
            spec.row_step};
  }

  // One matrix with the rows of all where the file has one tensor of them alone.
  std::vector<ops::QuantisedTensor> expert_matrices(const ExpertMatrices& spec,
                                                    std::uint64_t experts) const {
    if (spec.tensor_rows > 0) {
      const auto whole = matrix(spec.weights.front(), experts * spec.tensor_rows, spec.columns);
      std::vector<ops::QuantisedTensor> parts;
      for (std::uint64_t expert = 0; expert < experts; ++expert) {
        parts.push_back(
            rows_of(whole, expert * spec.tensor_rows + spec.first_row, spec.rows, false));
      }
      return parts;
    }
    const std::uint64_t rows = spec.rows * (experts / spec.weights.size());
    std::vector<ops::QuantisedTensor> matrices;
    for (std::size_t i = 0; i < spec.weights.size(); ++i) {
      matrices.push_back(
          spec.block_scales.empty()
              ? matrix(spec.weights[i], rows, spec.columns)
              : scaled(spec.weights[i], spec.block_scales.at(i), scaled_shape(spec, rows)));
    }
    return matrices;
  }

  const Backend& backend_;
  const FindWeight& find_;
};

void check_divisors(std::span<const Backend> backends, const std::string& tensor,
                    std::uint64_t count, const FindWeight& find) {
  if (tensor.empty()) return;
  PartFinder(backends[place_of(backends, find, tensor)], find).check_vector(tensor, count);
}

}  // namespace

FindWeight weights_of(const LoadedModel& model) {
  return
      [&](const std::string& tensor, const Device& device) { return model.weight(tensor, device); };
}

FindWeight weights_of(const ModelFile& model, const ModelRuntime::BuffersByName& weights) {
  return [&](const std::string& tensor, const Device& device) {
    const TensorInfo* const info = model.find(tensor);
    const auto found = weights.find(tensor);
    if (info == nullptr || found == weights.end()) {
      throw Error(ErrorCode::not_found, "make runtime", "weight '" + tensor + "' is missing",
                  "pass all tensors that the specification names");
    }
    const Buffer& bytes = found->second;
    if (!bytes.has_device() || !(bytes.device() == device)) {
      throw Error(ErrorCode::invalid_argument, "make runtime",
                  "weight '" + tensor + "' is not on " + device.id(),
                  "copy all weights to the device that computes");
    }
    return Weight{bytes, info->type, info->shape};
  };
}

Tensor find_vector(const Backend& backend, const FindWeight& find, const std::string& tensor,
                   std::uint64_t count) {
  const ops::QuantisedTensor row = PartFinder(backend, find).matrix(tensor, 1, count);
  const Layout layout{count};
  if (row.type().name() == "F32") return Tensor(row.blocks(), DType::f32, layout);
  const std::array<std::uint32_t, 1> first{0};
  return ops::embedding_rows(backend, row, first).with_layout(layout);
}

void check_weights(std::span<const Backend> backends, const DecoderPlaces& places,
                   const DecoderSpec& spec, const FindWeight& find) {
  const auto at = [&](std::size_t place) { return PartFinder(backends[place], find); };
  at(places.embedding).matrix(spec.embedding_tensor, spec.vocabulary, spec.embedding);
  at(places.output_norm).check_vector(spec.output_norm, spec.embedding);
  at(places.output).check_product(spec.output);
  check_divisors(backends, spec.rope.divisors_tensor, spec.rope.dimensions / 2, find);
  check_divisors(backends, spec.rope.long_divisors_tensor, spec.rope.dimensions / 2, find);
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    const DecoderLayer& layer = spec.layers[number];
    const PartFinder parts = at(places.layers[number]);
    for (const model::VectorPart& part : model::vectors_of(spec, layer)) {
      parts.check_vector(*part.tensor, part.elements);
    }
    for (const MatrixSpec* matrix : model::matrices_of(layer)) parts.check_product(*matrix);
    for (const ExpertMatrices* experts : model::expert_matrices_of(layer)) {
      parts.check_expert_products(*experts, layer.experts.count);
    }
  }
}

DecoderWeights find_weights(std::span<const Backend> backends, const DecoderPlaces& places,
                            const DecoderSpec& spec, const FindWeight& find) {
  const auto at = [&](std::size_t place) { return PartFinder(backends[place], find); };
  DecoderWeights weights{
      at(places.embedding).matrix(spec.embedding_tensor, spec.vocabulary, spec.embedding),
      at(places.output_norm).norm(spec.output_norm, spec.embedding, spec.norm_offset),
      at(places.output).product(spec.output),
      {}};
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    const DecoderLayer& layer = spec.layers[number];
    const PartFinder parts = at(places.layers[number]);
    const auto norm = [&](const std::string& tensor, std::uint64_t count) {
      return parts.norm(tensor, count, spec.norm_offset);
    };
    const auto named_norm = [&](const std::string& tensor, std::uint64_t count) {
      return tensor.empty() ? std::nullopt : std::optional(norm(tensor, count));
    };
    LayerWeights own{named_norm(layer.attention_norm, spec.embedding),
                     parts.named_product(layer.q),
                     parts.named_product(layer.k),
                     parts.named_product(layer.v),
                     named_norm(layer.q_norm, model::norm_elements(spec, layer.heads)),
                     named_norm(layer.k_norm, model::norm_elements(spec, layer.kv_heads)),
                     parts.product(layer.attention_output),
                     named_norm(layer.attention_post_norm, spec.embedding),
                     named_norm(layer.feed_forward_post_norm, spec.embedding),
                     parts.named_vector(layer.sinks, layer.heads),
                     named_norm(layer.feed_forward_norm, spec.embedding),
                     {},
                     {},
                     {},
                     {}};
    if (layer.has_delta()) own.delta = parts.delta(layer.delta);
    if (layer.has_latent()) {
      const LatentSpec& latent = layer.latent;
      own.latent = LatentWeights{parts.product(latent.down),
                                 norm(latent.norm, latent.length),
                                 parts.named_product(latent.up),
                                 parts.named_product(latent.k_up),
                                 parts.named_product(latent.v_up),
                                 parts.named_product(latent.query_down),
                                 named_norm(latent.query_norm, latent.query_length)};
    }
    if (layer.has_experts()) {
      const ExpertsSpec& experts = layer.experts;
      own.experts = ExpertWeights{parts.product(experts.router),
                                  parts.expert_products(experts.gate, experts.count),
                                  parts.expert_products(experts.up, experts.count),
                                  parts.expert_products(experts.down, experts.count),
                                  parts.named_vector(experts.choice_bias, experts.count),
                                  {},
                                  parts.named_product(experts.shared_score)};
      if (experts.has_shared()) {
        own.experts->shared =
            MlpWeights{parts.product(experts.shared_gate), parts.product(experts.shared_up),
                       parts.product(experts.shared_down)};
      }
    } else {
      own.mlp =
          MlpWeights{parts.product(layer.gate), parts.product(layer.up), parts.product(layer.down)};
    }
    weights.layers.push_back(std::move(own));
  }
  return weights;
}

}  // namespace hiptool::runtime
