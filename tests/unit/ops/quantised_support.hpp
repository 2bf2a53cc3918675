// SPDX-License-Identifier: MIT
/// What tests of products with quantised weights share.
#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/tensor.hpp"
#include "model/element_types.hpp"
#include "ops/quantised.hpp"

namespace hiptool::test {

/// The bits of numbers, of which NaN equals itself and -0 is not 0.
using FloatBits = std::vector<std::uint32_t>;

inline FloatBits float_bits(const std::vector<float>& values) {
  FloatBits bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

inline FloatBits float_bits(const Backend& backend, const Tensor& tensor) {
  return float_bits(tensor.to_host<float>(backend.stream()));
}

/// 16 random bits; quantised_values.py has the same generator.
inline std::uint32_t next_number(std::uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 16;
}

inline ElementType element_type(std::string_view name) {
  const model::GgufType* const found = model::find_gguf_type(name);
  REQUIRE(found != nullptr);
  return ElementType(found->entry);
}

/// Random blocks of a matrix on the device, each changed by change(block) first.
template <class Change>
ops::QuantisedTensor random_blocks(const Backend& backend, ElementType type, std::uint64_t rows,
                                   std::uint64_t columns, std::uint32_t seed, Change change) {
  const std::size_t block = type.block_bits() / 8;
  std::vector<std::uint8_t> bytes(rows * columns / type.block_elements() * block);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(next_number(seed));
  for (std::size_t at = 0; at < bytes.size(); at += block) change(&bytes[at]);
  Buffer buffer(backend.device(), bytes.size());
  copy_h2d_and_wait(buffer, std::as_bytes(std::span(bytes)));
  return {buffer, type, rows, columns};
}

}  // namespace hiptool::test
