// SPDX-License-Identifier: MIT
// Multiply-adds of pairs of 16-bit numbers for the processor, which has no instruction for them.
#pragma once
#include <cstdint>
#include <cstring>

namespace hiptool_cpu {

inline std::uint64_t double_bits(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline double bits_double(std::uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// binary16 has 11 digits and 5 bits of exponent, bfloat16 8 and 8. Finite numbers only.
template <int digits, int exponent_bits>
struct Narrow {
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int places = digits - 1;  // that are stored
  static constexpr std::uint64_t infinity = ((std::uint64_t{1} << exponent_bits) - 1) << places;

  static double widen(std::uint32_t number) {
    const std::uint64_t sign = std::uint64_t{number & 0x8000U} << 48;
    const std::uint64_t magnitude = number & 0x7FFFU;
    // With the exponent of a double; what is subnormal here is not in a double.
    double value = bits_double(magnitude << (52 - places));
    value *= bits_double(static_cast<std::uint64_t>(1023 + 1023 - bias) << 52);
    return bits_double(double_bits(value) | sign);
  }

  /// To nearest, ties to even.
  static std::uint32_t round(double value) {
    const std::uint64_t bits = double_bits(value);
    const auto sign = static_cast<std::uint32_t>(bits >> 48) & 0x8000U;
    const int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023 + bias;  // as it is stored
    const int lost = 52 - places + (exponent < 1 ? 1 - exponent : 0);
    if (lost > 54) return sign;
    std::uint64_t kept = (bits & 0xFFFFFFFFFFFFFU) | std::uint64_t{1} << 52;
    const std::uint64_t half = std::uint64_t{1} << (lost - 1);
    kept = (kept + half - 1 + (kept >> lost & 1)) >> lost;
    // The leading one adds 1 to the exponent, and so does a carry.
    const std::uint64_t rest = exponent < 1 ? 0 : static_cast<std::uint64_t>(exponent - 1);
    const std::uint64_t number = kept + (rest << places);
    return sign | static_cast<std::uint32_t>(number < infinity ? number : infinity);
  }

  /// The product has 2 `digits` at most, so a double holds it. Of the sum the last digit is set
  /// where it is not exact (rounding to odd: Boldo and Melquiond, Emulation of FMA and correctly
  /// rounded sums, 2008), so that the second rounding is the only one that counts.
  static std::uint32_t multiply_add(std::uint32_t x, std::uint32_t a, std::uint32_t b) {
    const double product = widen(x) * widen(a);
    const double added = widen(b);
    const double sum = product + added;
    // Knuth, The Art of Computer Programming 2, 4.2.2, theorem B: what the sum lacks.
    const double part = sum - product;
    const double lacks = (product - (sum - part)) + (added - part);
    std::uint64_t bits = double_bits(sum);
    if (lacks != 0 && bits % 2 == 0) bits += (lacks > 0) == (sum > 0) ? 1U : ~std::uint64_t{0};
    return round(bits_double(bits));
  }

  /// Of the low and of the high half.
  static std::uint32_t multiply_add_pair(std::uint32_t x, std::uint32_t a, std::uint32_t b) {
    return multiply_add(x & 0xFFFFU, a & 0xFFFFU, b & 0xFFFFU) |
           multiply_add(x >> 16, a >> 16, b >> 16) << 16;
  }
};

}  // namespace hiptool_cpu
