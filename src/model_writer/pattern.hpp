// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/element_types.hpp"

namespace hiptool::model_writer {

/// Bits of one byte of a block: (random & keep) | set.
struct ByteBits {
  std::uint16_t offset = 0;
  std::uint8_t keep = 0xFF;
  std::uint8_t set = 0;
};

/// Generates the random bytes of one tensor. A byte depends only on its offset, so that any thread
/// can generate any piece in any order.
struct Pattern {
  std::uint64_t seed = 0;
  std::uint64_t keep = ~std::uint64_t{0};  ///< and-mask for each 8 bytes
  std::uint64_t set = 0;                   ///< or-mask for each 8 bytes
  std::uint32_t block_bytes = 1;
  std::array<ByteBits, 4> scale_bits{};  ///< for each block

  static Pattern of(const model::GgufType& type, std::uint64_t seed);
  static Pattern of(const model::SafetensorsType& type, std::uint64_t seed);

  /// Fills the span with the tensor's bytes from that offset of the tensor on.
  void fill(std::span<std::byte> destination, std::uint64_t offset) const;
};

/// A seed for one tensor of a model.
std::uint64_t tensor_seed(std::uint64_t seed, std::uint64_t tensor) noexcept;

}  // namespace hiptool::model_writer
