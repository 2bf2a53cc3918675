// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace hiptool::measure {

/// A floating-point format of 16 bits: sign, exponent, stored digits.
struct NarrowFormat {
  int digits = 0;  ///< of the significand, with the leading one that is not stored
  int exponent_bits = 0;
};

inline constexpr NarrowFormat binary16{11, 5};
inline constexpr NarrowFormat bfloat16{8, 8};

/// x a + b of finite numbers, rounded once: to nearest, ties to even, with subnormal numbers, and
/// infinity above the largest (IEEE 754-2019, 5.4.1, fusedMultiplyAdd). Computed in integers.
std::uint16_t fused_multiply_add(NarrowFormat format, std::uint16_t x, std::uint16_t a,
                                 std::uint16_t b);

}  // namespace hiptool::measure
