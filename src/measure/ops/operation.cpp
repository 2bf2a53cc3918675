// SPDX-License-Identifier: MIT
#include "measure/ops/operation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hiptool::measure {
namespace {

using reference::Values;

std::size_t count_elements(std::span<const std::uint64_t> dims) {
  std::uint64_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  return count;
}

void put_bits(std::vector<std::byte>& bytes, std::size_t index, std::size_t size,
              std::uint64_t bits) {
  std::memcpy(bytes.data() + index * size, &bits, size);  // little-endian machines only
}

}  // namespace

std::string_view to_string(DataKind kind) noexcept {
  switch (kind) {
    case DataKind::whole: return "whole numbers";
    case DataKind::random: return "random numbers";
    case DataKind::all_bits: return "all bits";
    case DataKind::none: break;
  }
  return "no data";
}

InputData InputMaker::numbers(DType dtype, std::span<const std::uint64_t> dims) {
  if (kind_ == DataKind::none) return {dtype, {dims.begin(), dims.end()}, {}};
  const std::size_t count = count_elements(dims);
  const std::size_t size = element_size_bytes(dtype);
  const unsigned position = made_++;
  Values values{{dims.begin(), dims.end()}, std::vector<long double>(count)};
  std::vector<bool> is_bits(count, false);
  std::vector<std::uint64_t> bits(count);
  const bool has_sign = dtype != DType::u8 && dtype != DType::u32;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = random_();
    if (kind_ == DataKind::whole) {
      values.at[i] = static_cast<long double>(number % 17) - (has_sign ? 8 : 0);
      continue;
    }
    is_bits[i] = kind_ == DataKind::all_bits || !is_floating_point(dtype) || number % 2 == 0;
    values.at[i] =
        is_bits[i] ? 0 : static_cast<long double>(static_cast<double>(number >> 11) * 0x1p-50 - 4);
    bits[i] = random_();
    if (kind_ == DataKind::all_bits && size == 1) bits[i] = i >> (8 * (position % 2));
    if (kind_ == DataKind::all_bits && size == 2 && position == 0) bits[i] = i;
  }
  InputData data{dtype, values.dims, reference::bytes_of(dtype, values)};
  for (std::size_t i = 0; i < count; ++i) {
    if (is_bits[i]) put_bits(data.bytes, i, size, bits[i]);
  }
  return data;
}

InputData InputMaker::canonical_numbers(DType dtype, std::span<const std::uint64_t> dims) {
  InputData data = numbers(dtype, dims);
  make_canonical(data);
  return data;
}

InputData InputMaker::moderate_numbers(DType dtype, std::span<const std::uint64_t> dims) {
  constexpr long double most = 64;
  InputData data = numbers(dtype, dims);
  if (kind_ == DataKind::none || !is_floating_point(dtype)) return data;
  Values values = reference::values_of(dtype, data.bytes, data.dims);
  for (long double& value : values.at) {
    int exponent = 0;
    if (!std::isfinite(value)) value = 1;
    if (std::fabs(value) > most) value = most * std::frexp(value, &exponent);
  }
  data.bytes = reference::bytes_of(dtype, values);
  return data;
}

InputData InputMaker::indices(DType dtype, std::span<const std::uint64_t> dims,
                              std::uint64_t limit) {
  if (kind_ == DataKind::none) return {dtype, {dims.begin(), dims.end()}, {}};
  Values values{{dims.begin(), dims.end()}, {}};
  const std::size_t count = count_elements(dims);
  for (std::size_t i = 0; i < count; ++i) {
    values.at.push_back(static_cast<long double>(limit == 0 ? 0 : random_() % limit));
  }
  return {dtype, values.dims, reference::bytes_of(dtype, values)};
}

const std::vector<OperationEntry>& operations() {
  static const std::vector<OperationEntry> all = [] {
    std::vector<OperationEntry> list;
    add_binary_operations(list);
    add_compare_operations(list);
    add_unary_operations(list);
    add_elementwise_operations(list);
    add_reduce_operations(list);
    add_rows_operations(list);
    add_gate_operations(list);
    add_movement_operations(list);
    add_indexing_operations(list);
    add_matmul_operations(list);
    add_pool_operations(list);
    add_conv_operations(list);
    add_layer_operations(list);
    add_random_operations(list);
    return list;
  }();
  return all;
}

const OperationEntry* find_operation(std::string_view name) {
  const auto found = std::ranges::find(operations(), name, &OperationEntry::name);
  return found == operations().end() ? nullptr : &*found;
}

OperationCase elementwise_case(std::size_t inputs, DType dtype, std::span<const std::uint64_t> dims,
                               InputMaker& maker, DType result_dtype) {
  OperationCase made;
  for (std::size_t i = 0; i < inputs; ++i) made.inputs.push_back(maker.numbers(dtype, dims));
  made.result_dtype = result_dtype;
  made.result_dims.assign(dims.begin(), dims.end());
  if (dtype == result_dtype) made.in_place = 0;
  return made;
}

void make_canonical(InputData& data) {
  if (data.bytes.empty()) return;
  data.bytes =
      reference::bytes_of(data.dtype, reference::values_of(data.dtype, data.bytes, data.dims));
}

std::optional<Dims> image_dims(std::span<const std::uint64_t> dims, std::size_t rank) {
  if (dims.size() > rank) return std::nullopt;
  Dims image(rank - dims.size(), 1);
  image.insert(image.end(), dims.begin(), dims.end());
  return image;
}

Dims dims_of_images(std::uint64_t size_bytes, DType dtype, const Dims& image, std::uint64_t most) {
  const std::uint64_t count = std::max<std::uint64_t>(1, size_bytes / element_size_bytes(dtype));
  const std::uint64_t images = std::min<std::uint64_t>(most, count / count_elements(image));
  if (images == 0) return {count};
  Dims dims{images};
  dims.insert(dims.end(), image.begin(), image.end());
  return dims;
}

void put_number(InputData& data, std::uint64_t index, long double value) {
  if (data.bytes.empty()) return;
  const auto bytes = reference::bytes_of(data.dtype, {{1}, {value}});
  std::memcpy(data.bytes.data() + index * bytes.size(), bytes.data(), bytes.size());
}

}  // namespace hiptool::measure
