// SPDX-License-Identifier: MIT
#include "runtime/decoder_weights.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "hiptool/error.hpp"

namespace hiptool::runtime {
namespace {

[[noreturn]] void refuse_size(const std::string& tensor, const std::string& wanted) {
  throw Error(ErrorCode::invalid_argument, "make runtime",
              "weight '" + tensor + "': the tensor does not have the specification's " + wanted,
              "read the specification from the model that was loaded");
}

ops::QuantisedTensor find_matrix(const FindWeight& find, const std::string& tensor,
                                 std::uint64_t rows, std::uint64_t columns) {
  const Weight weight = find(tensor);
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

void check_vector(const FindWeight& find, const std::string& tensor, std::uint64_t count) {
  if (!tensor.empty()) find_matrix(find, tensor, 1, count);
}

void check_product(const FindWeight& find, const MatrixSpec& matrix) {
  find_matrix(find, matrix.weight, matrix.rows, matrix.columns);
  check_vector(find, matrix.bias, matrix.rows);
}

/// Finds the parts of a layer.
class PartFinder {
 public:
  PartFinder(const Backend& backend, const FindWeight& find) : backend_(backend), find_(find) {}

  Tensor vector(const std::string& tensor, std::uint64_t count) const {
    return find_vector(backend_, find_, tensor, count);
  }
  std::optional<Tensor> named_vector(const std::string& tensor, std::uint64_t count) const {
    if (tensor.empty()) return std::nullopt;
    return vector(tensor, count);
  }
  DeviceMatrix product(const MatrixSpec& matrix) const {
    return {find_matrix(find_, matrix.weight, matrix.rows, matrix.columns),
            named_vector(matrix.bias, matrix.rows)};
  }

 private:
  const Backend& backend_;
  const FindWeight& find_;
};

}  // namespace

Tensor find_vector(const Backend& backend, const FindWeight& find, const std::string& tensor,
                   std::uint64_t count) {
  const ops::QuantisedTensor row = find_matrix(find, tensor, 1, count);
  const Layout layout{count};
  if (row.type().name() == "F32") return Tensor(row.blocks(), DType::f32, layout);
  const std::array<std::uint32_t, 1> first{0};
  return ops::embedding_rows(backend, row, first).with_layout(layout);
}

void check_weights(const DecoderSpec& spec, const FindWeight& find) {
  find_matrix(find, spec.embedding_tensor, spec.vocabulary, spec.embedding);
  check_vector(find, spec.output_norm, spec.embedding);
  check_product(find, spec.output);
  check_vector(find, spec.rope.divisors_tensor, spec.rope.dimensions / 2);
  check_vector(find, spec.rope.long_divisors_tensor, spec.rope.dimensions / 2);
  for (const DecoderLayer& layer : spec.layers) {
    check_vector(find, layer.attention_norm, spec.embedding);
    check_vector(find, layer.feed_forward_norm, spec.embedding);
    check_vector(find, layer.q_norm, spec.key_length);
    check_vector(find, layer.k_norm, spec.key_length);
    for (const MatrixSpec* matrix : {&layer.q, &layer.k, &layer.v, &layer.attention_output,
                                     &layer.gate, &layer.up, &layer.down}) {
      check_product(find, *matrix);
    }
  }
}

DecoderWeights find_weights(const Backend& backend, const DecoderSpec& spec,
                            const FindWeight& find) {
  const PartFinder parts(backend, find);
  DecoderWeights weights{find_matrix(find, spec.embedding_tensor, spec.vocabulary, spec.embedding),
                         parts.vector(spec.output_norm, spec.embedding),
                         parts.product(spec.output),
                         {}};
  for (const DecoderLayer& layer : spec.layers) {
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
