// SPDX-License-Identifier: MIT
#include "runtime/decoder_weights.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "hiptool/error.hpp"
#include "runtime/decoder_places.hpp"

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
    const Weight weight = find_(tensor, backend_.device());
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : weight.shape) elements *= extent;
    if (elements != rows * columns) {
      refuse_size(tensor, std::to_string(rows) + " x " + std::to_string(columns) + " elements");
    }
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
  DeviceMatrix product(const MatrixSpec& spec) const {
    return {matrix(spec.weight, spec.rows, spec.columns), named_vector(spec.bias, spec.rows)};
  }

  void check_vector(const std::string& tensor, std::uint64_t count) const {
    if (!tensor.empty()) matrix(tensor, 1, count);
  }
  void check_product(const MatrixSpec& spec) const {
    matrix(spec.weight, spec.rows, spec.columns);
    check_vector(spec.bias, spec.rows);
  }

 private:
  const Backend& backend_;
  const FindWeight& find_;
};

void check_divisors(std::span<const Backend> backends, const std::string& tensor,
                    std::uint64_t count, const FindWeight& find) {
  if (tensor.empty()) return;
  PartFinder(backends[place_of(backends, find, tensor)], find).check_vector(tensor, count);
}

}  // namespace

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
    parts.check_vector(layer.attention_norm, spec.embedding);
    parts.check_vector(layer.feed_forward_norm, spec.embedding);
    parts.check_vector(layer.q_norm, spec.key_length);
    parts.check_vector(layer.k_norm, spec.key_length);
    for (const MatrixSpec* matrix : {&layer.q, &layer.k, &layer.v, &layer.attention_output,
                                     &layer.gate, &layer.up, &layer.down}) {
      parts.check_product(*matrix);
    }
  }
}

DecoderWeights find_weights(std::span<const Backend> backends, const DecoderPlaces& places,
                            const DecoderSpec& spec, const FindWeight& find) {
  const auto at = [&](std::size_t place) { return PartFinder(backends[place], find); };
  DecoderWeights weights{
      at(places.embedding).matrix(spec.embedding_tensor, spec.vocabulary, spec.embedding),
      at(places.output_norm).vector(spec.output_norm, spec.embedding),
      at(places.output).product(spec.output),
      {}};
  for (std::size_t number = 0; number < spec.layers.size(); ++number) {
    const DecoderLayer& layer = spec.layers[number];
    const PartFinder parts = at(places.layers[number]);
    weights.layers.push_back(
        {parts.vector(layer.attention_norm, spec.embedding), parts.product(layer.q),
         parts.product(layer.k), parts.product(layer.v),
         parts.named_vector(layer.q_norm, spec.key_length),
         parts.named_vector(layer.k_norm, spec.key_length), parts.product(layer.attention_output),
         parts.vector(layer.feed_forward_norm, spec.embedding), parts.product(layer.gate),
         parts.product(layer.up), parts.product(layer.down)});
  }
  return weights;
}

}  // namespace hiptool::runtime
