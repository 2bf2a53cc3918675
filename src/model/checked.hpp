// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

namespace hiptool::model {

/// The sum, or nothing when it does not fit. Sizes from a file are only ever combined with these:
/// wrapped sums are how model parsers have been broken before (GHSA-vgg9-87g3-85w8).
constexpr std::optional<std::uint64_t> checked_add(std::uint64_t left, std::uint64_t right) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) return std::nullopt;
  return sum;
}

/// The product, or nothing when it does not fit.
constexpr std::optional<std::uint64_t> checked_multiply(std::uint64_t left, std::uint64_t right) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(left, right, &product)) return std::nullopt;
  return product;
}

/// The next multiple of the alignment (a power of two), or nothing when it does not fit.
constexpr std::optional<std::uint64_t> checked_align(std::uint64_t value, std::uint64_t alignment) {
  const auto raised = checked_add(value, alignment - 1);
  if (!raised) return std::nullopt;
  return *raised & ~(alignment - 1);
}

}  // namespace hiptool::model
