// SPDX-License-Identifier: MIT
#include "measure/kernel/narrow_float.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "hiptool_cpu_narrow.h"

using namespace hiptool::measure;

namespace {

struct Case {
  std::uint16_t x;
  std::uint16_t a;
  std::uint16_t b;
  std::uint16_t expected;
};

/// What the kernels for the processor take: by doubles, where the other has whole numbers alone.
std::uint16_t by_doubles(NarrowFormat format, std::uint16_t x, std::uint16_t a, std::uint16_t b) {
  const bool is_f16 = format.digits == binary16.digits;
  return static_cast<std::uint16_t>(is_f16 ? hiptool_cpu::Narrow<11, 5>::multiply_add(x, a, b)
                                           : hiptool_cpu::Narrow<8, 8>::multiply_add(x, a, b));
}

bool is_finite(NarrowFormat format, std::uint16_t number) {
  const int infinity = ((1 << format.exponent_bits) - 1) << (format.digits - 1);
  return (number & 0x7FFF) < infinity;
}

void check_both(NarrowFormat format, const Case& test) {
  CAPTURE(test.x);
  CAPTURE(test.a);
  CAPTURE(test.b);
  CHECK(fused_multiply_add(format, test.x, test.a, test.b) == test.expected);
  CHECK(by_doubles(format, test.x, test.a, test.b) == test.expected);
}

/// Both ways agree on all three of numbers; counts how many were compared.
std::size_t compare(NarrowFormat format, std::uint16_t x, std::uint16_t a, std::uint16_t b) {
  if (!is_finite(format, x) || !is_finite(format, a) || !is_finite(format, b)) return 0;
  const std::uint16_t expected = fused_multiply_add(format, x, a, b);
  const std::uint16_t got = by_doubles(format, x, a, b);
  if (got != expected) {
    CAPTURE(x);
    CAPTURE(a);
    CAPTURE(b);
    CHECK(got == expected);
  }
  return 1;
}

}  // namespace

TEST_CASE("one times every number and zero is that number") {
  for (const NarrowFormat format : {binary16, bfloat16}) {
    const std::uint16_t one = format.digits == 11 ? 0x3C00 : 0x3F80;
    const std::uint16_t minus_zero = 0x8000;
    std::size_t wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto number = static_cast<std::uint16_t>(bits);
      if (!is_finite(format, number)) continue;
      if (fused_multiply_add(format, number, one, minus_zero) != number) ++wrong;
      if (by_doubles(format, number, one, minus_zero) != number) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

// By exact fractions (Python's fractions). In each of them to round first to f32, or for bf16 also
// to f64, and then again gives another number.
TEST_CASE("where two roundings would differ from one") {
  for (const Case& test :
       {Case{0x3F38, 0x3E80, 0x8001, 0x41DD}, Case{0x3EE0, 0x3F60, 0x0001, 0x4257},
        Case{0x3C80, 0x3EA4, 0x0001, 0x3F79}}) {
    check_both(binary16, test);
  }
  for (const Case& test :
       {Case{0x3FF2, 0x3FC0, 0x8001, 0x4035}, Case{0x3FE0, 0x3FCC, 0x2080, 0x4033},
        Case{0x3F84, 0x3F90, 0x0001, 0x3F95}, Case{0x3F8E, 0x3FA0, 0xB000, 0x3FB1},
        Case{0x3FE0, 0x3F94, 0xB000, 0x4001}}) {
    check_both(bfloat16, test);
  }
}

TEST_CASE("the largest numbers end in infinity, the smallest in zero with its sign") {
  check_both(binary16, {0x7BFF, 0x3C00, 0x4C00, 0x7C00});  // 65504 + 16, half of the way: even
  check_both(binary16, {0x7BFF, 0x3C00, 0x4BFF, 0x7BFF});
  check_both(binary16, {0x0001, 0xB800, 0x8000, 0x8000});  // half of the smallest: even
  check_both(binary16, {0x0001, 0x3801, 0x0000, 0x0001});
  check_both(bfloat16, {0x7F7F, 0x4000, 0x8000, 0x7F80});
  check_both(bfloat16, {0x0001, 0x3F00, 0x0000, 0x0000});
}

TEST_CASE("two ways to round a multiply-add once agree") {
  for (const NarrowFormat format : {binary16, bfloat16}) {
    std::size_t compared = 0;
    std::uint64_t state = 1;
    const auto next = [&] {
      state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth, MMIX
      return static_cast<std::uint16_t>(state >> 48);
    };
    for (int i = 0; i < 500000; ++i) compared += compare(format, next(), next(), next());
    // Where a product and a summand nearly cancel, or lie far from each other.
    const std::vector<std::uint16_t> edges{
        0x0000, 0x0001, 0x0002, 0x007F, 0x0080, 0x0081, 0x03FF, 0x0400, 0x0401, 0x3BFF, 0x3C00,
        0x3C01, 0x3F7F, 0x3F80, 0x3F81, 0x3FC0, 0x4000, 0x7BFE, 0x7BFF, 0x7F7E, 0x7F7F, 0x4B7F,
        0x1001, 0x1081, 0x3555, 0x2AAA, 0x6801, 0x5BFF, 0x0C01, 0x7801, 0x07FF, 0x3DDD};
    for (const std::uint16_t x : edges) {
      for (const std::uint16_t a : edges) {
        for (const std::uint16_t b : edges) {
          for (const std::uint16_t sign : {std::uint16_t{0}, std::uint16_t{0x8000}}) {
            compared += compare(format, x, a, static_cast<std::uint16_t>(b | sign));
            compared += compare(format, static_cast<std::uint16_t>(x | sign), a, b);
          }
        }
      }
    }
    CHECK(compared > 400000);
  }
}
