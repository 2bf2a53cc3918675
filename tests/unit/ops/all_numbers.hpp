// SPDX-License-Identifier: MIT
/// Elements with which operations of one tensor are tested.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>

#include "unit/ops/check_operation.hpp"

namespace hiptool::test {

/// About powers of two, and halves of the last places of shorter types there.
inline void add_edges(std::vector<long double>& numbers, bool is_whole, int least, int most) {
  for (int exponent = least; exponent <= most; ++exponent) {
    const long double power = std::ldexp(1.0L, exponent);
    for (const int place : {0, 1, 3, 4, 5, 7, 8, 9, 10, 11, 12, 23, 24, 25, 31, 32, 52, 53}) {
      for (const long double less : {-1, 0, 1}) {
        const long double tiny = is_whole ? less : std::ldexp(less, exponent - 52);
        const long double number = power + std::ldexp(power, -place) + tiny;
        if (is_whole && (number != std::trunc(number) || number >= 2 * power)) continue;
        numbers.push_back(number);
      }
    }
  }
}

/// Every element of the small types; else edges of all types, and random ones of many sizes.
inline std::vector<std::byte> all_elements(DType dtype) {
  const std::size_t size = element_size_bytes(dtype);
  std::vector<std::byte> bytes;
  if (size <= 2) {
    const std::size_t count = size == 1 ? 256 : 65536;
    for (std::size_t i = 0; i < count; ++i) {
      bytes.push_back(static_cast<std::byte>(i));
      if (size == 2) bytes.push_back(static_cast<std::byte>(i >> 8));
    }
    return bytes;
  }
  auto numbers = some_values(dtype, std::array<std::uint64_t, 1>{2000}, 3).at;
  const std::size_t of_both_signs = numbers.size();
  const bool is_whole = !is_floating_point(dtype);
  const int bits = static_cast<int>(size) * 8 - (dtype == DType::u32 ? 0 : 1);
  add_edges(numbers, is_whole, is_whole ? 0 : -152, is_whole ? bits - 1 : 130);
  if (!is_whole) {
    std::mt19937_64 random(4);
    for (int i = 0; i < 1000; ++i) {
      numbers.push_back(static_cast<long double>(random() % 1000001) / 50000);
    }
    for (const long double edge :
         {0.0L, 0.5L, 0.9L, 1.5L, 2.5L, 0.49999997L, 448.0L, 464.0L, 464.5L, 65519.0L, 65520.0L,
          8388607.5L, 8388609.0L, 4503599627370495.5L,
          std::numeric_limits<long double>::infinity()}) {
      numbers.push_back(edge);
    }
  }
  if (dtype != DType::u32) {
    const std::size_t end = numbers.size();
    for (std::size_t i = of_both_signs; i < end; ++i) numbers.push_back(-numbers[i]);
  }
  if (is_whole && dtype != DType::u32) numbers.push_back(-std::ldexp(1.0L, bits));
  bytes = reference::bytes_of(dtype, {{numbers.size()}, numbers});
  if (is_whole) return bytes;
  // NaN of either sign, with several payloads, quiet and not.
  for (const std::uint64_t payload : {1u, 2u, 3u}) {
    for (const std::uint64_t upper : {0x7F8u, 0x7FCu, 0xFF8u, 0xFFCu}) {
      const std::uint64_t pattern = dtype == DType::f32
                                        ? upper << 20 | payload << 1
                                        : (upper | 7) << 52 | (upper & 4) << 49 | payload;
      const auto* const at = reinterpret_cast<const std::byte*>(&pattern);
      bytes.insert(bytes.end(), at, at + size);
    }
  }
  return bytes;
}

/// The elements and their values, of which every `step`-th.
struct Elements {
  std::vector<std::byte> bytes;
  reference::Values values;
};
inline Elements every_element(DType dtype, std::size_t step = 1) {
  const auto all = all_elements(dtype);
  const std::size_t size = element_size_bytes(dtype);
  Elements elements;
  for (std::size_t i = 0; i < all.size() / size; i += step) {
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(i * size);
    elements.bytes.insert(elements.bytes.end(), at, at + static_cast<std::ptrdiff_t>(size));
  }
  elements.values = reference::values_of(
      dtype, elements.bytes, std::array<std::uint64_t, 1>{elements.bytes.size() / size});
  return elements;
}

inline Tensor packed_tensor(const Backend& backend, DType dtype, std::span<const std::byte> bytes,
                            std::span<const std::uint64_t> dims) {
  return Tensor::from_host_bytes({backend.allocator(), backend.stream()}, bytes, dtype, dims);
}
inline Tensor packed_tensor(const Backend& backend, DType dtype, const reference::Values& values) {
  return packed_tensor(backend, dtype, reference::bytes_of(dtype, values), values.dims);
}

/// Bytes of a packed tensor.
inline std::vector<std::byte> bytes_on_host(const Backend& backend, const Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.size_bytes());
  tensor.copy_to_host(bytes, backend.stream());
  return bytes;
}

}  // namespace hiptool::test
