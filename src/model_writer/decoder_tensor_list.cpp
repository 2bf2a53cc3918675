// SPDX-License-Identifier: MIT
#include "model_writer/decoder_tensor_list.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model_writer/decoder_values.hpp"

namespace hiptool::model_writer {

void DecoderTensorList::matrix_of(const PlannedType& type, const std::string& name,
                                  std::uint64_t rows, std::uint64_t columns) {
  const int magnitude = magnitude_of(columns);
  if (!is_scaled(type)) {
    add_matrix(type, name, rows, columns, magnitude);
    return;
  }
  // A scale is from 1 to 2 times the power of two that codes lack.
  constexpr int of_codes = 3;
  add_matrix(type, name, rows, columns, of_codes);
  const auto blocks = [](std::uint64_t extent) {
    return (extent + DecoderPlan::scale_block - 1) / DecoderPlan::scale_block;
  };
  add_vector(name + "_scale_inv", blocks(rows) * blocks(columns), magnitude - of_codes - 1, true);
  tensors_.back().shape = {blocks(rows), blocks(columns)};
}

void DecoderTensorList::plain_matrix(const std::string& name, std::uint64_t rows,
                                     std::uint64_t columns) {
  add_plain(name, rows, columns, magnitude_of(columns));
}

void DecoderTensorList::experts(const std::string& name, std::uint64_t count, std::uint64_t rows,
                                std::uint64_t columns) {
  matrix(name, count * rows, columns);
  tensors_.back().shape = {columns, rows, count};
  if (!is_gguf()) std::ranges::reverse(tensors_.back().shape);
}

void DecoderTensorList::packed(const std::string& name, std::uint64_t count, std::uint64_t rows,
                               std::uint64_t columns) {
  constexpr std::uint64_t block = 32;
  const int magnitude = magnitude_of(columns);
  PlannedTensor& codes = add(name + "blocks", "U8", 1, 0, false);
  codes.size_bytes = count * rows * columns / 2;
  codes.shape = {count, rows, columns / block, block / 2};
  PlannedTensor& scales = add(name + "scales", "U8", 1, 0, false);
  scales.size_bytes = count * rows * columns / block;
  scales.shape = {count, rows, columns / block};
  scales.pattern.keep = 0;
  for (int at = 0; at < 64; at += 8) {
    scales.pattern.set |= static_cast<std::uint64_t>(packed_exponent(magnitude)) << at;
  }
}

void DecoderTensorList::convolution(const std::string& name, std::uint64_t channels,
                                    std::uint64_t taps) {
  if (is_gguf()) {
    add_vector(name, channels * taps, magnitude_of(taps), false);
    tensors_.back().shape = {taps, channels};
    return;
  }
  plain_matrix(name, channels, taps);
  tensors_.back().shape = {channels, 1, taps};
}

void DecoderTensorList::expert_bias(const std::string& name, std::vector<std::uint64_t> shape) {
  bias(name, shape[0] * shape[1]);
  tensors_.back().shape = std::move(shape);
}

void DecoderTensorList::vector(const std::string& name, std::uint64_t count, int magnitude,
                               bool is_positive) {
  add_vector(name, count, magnitude, is_positive);
}

void DecoderTensorList::row(const std::string& name, std::uint64_t columns) {
  if (is_gguf()) {
    add_vector(name, columns, magnitude_of(columns), false);
  } else {
    matrix(name, 1, columns);
  }
}

void DecoderTensorList::negative_vector(const std::string& name, std::uint64_t count) {
  constexpr std::uint64_t signs = 0x8000000080000000;  // of two elements
  add_vector(name, count, -1, true);
  tensors_.back().pattern.set |= signs;
}

void DecoderTensorList::embedding(const std::string& name, std::uint64_t rows,
                                  std::uint64_t columns) {
  add_plain(name, rows, columns, -1);
}

int DecoderTensorList::magnitude_of(std::uint64_t columns) {
  const double deviation = 1 / std::sqrt(static_cast<double>(columns));
  return static_cast<int>(std::lround(std::log2(deviation) - 0.6));
}

void DecoderTensorList::add_plain(const std::string& name, std::uint64_t rows,
                                  std::uint64_t columns, int magnitude) {
  const PlannedType& type = next_type();
  if (!is_scaled(type)) return add_matrix(type, name, rows, columns, magnitude);
  PlannedTensor& plain = add(name, "BF16", 2, magnitude, false);
  plain.size_bytes = rows * columns * 2;
  plain.shape = {rows, columns};
}

void DecoderTensorList::add_matrix(const PlannedType& type, const std::string& name,
                                   std::uint64_t rows, std::uint64_t columns, int magnitude) {
  PlannedTensor& tensor = add(name, type.name, type.bytes, magnitude, false);
  tensor.size_bytes = rows * (columns / type.elements) * type.bytes;
  if (type.gguf != nullptr) tensor.type_id = type.gguf->id;
  tensor.shape = {columns, rows};
  if (!is_gguf()) std::ranges::reverse(tensor.shape);
}

void DecoderTensorList::add_vector(const std::string& name, std::uint64_t count, int magnitude,
                                   bool is_positive) {
  PlannedTensor& tensor = add(name, "F32", 4, magnitude, is_positive);  // number 0 in GGUF
  tensor.size_bytes = count * 4;
  tensor.shape = {count};
}

PlannedTensor& DecoderTensorList::add(const std::string& name, std::string_view type,
                                      std::uint64_t block_bytes, int magnitude, bool is_positive) {
  PlannedTensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.pattern =
      weight_pattern(type, static_cast<std::uint32_t>(block_bytes),
                     tensor_seed(options_.seed, tensors_.size()), magnitude, is_positive);
  tensors_.push_back(std::move(tensor));
  return tensors_.back();
}

}  // namespace hiptool::model_writer
