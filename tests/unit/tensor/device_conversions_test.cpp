// SPDX-License-Identifier: MIT
// The conversions of kernels/include/hiptool_device.h against hiptool/dtype.hpp, and against tables
// of all numbers of each type.
#include "hiptool_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hiptool/dtype.hpp"

namespace {

using hiptool::BFloat16;
using hiptool::Float8E4M3;
using hiptool::Half;

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

struct F16 {
  static constexpr unsigned bits = 16, fraction_bits = 10, canonical_nan = 0x7E00;
  static constexpr int bias = 15;
  static constexpr bool has_infinity = true;
  static float widen(std::uint32_t code) { return hiptool_device::f16_to_float(code); }
  static float dtype_widen(std::uint32_t code) {
    return to_float(Half{static_cast<std::uint16_t>(code)});
  }
  template <class Real>
  static std::uint32_t narrow(Real value) {
    return hiptool_device::to_f16(value);
  }
  static std::uint32_t dtype_narrow(float value) { return hiptool::to_half(value).bits; }
};

struct Bf16 {
  static constexpr unsigned bits = 16, fraction_bits = 7, canonical_nan = 0x7FC0;
  static constexpr int bias = 127;
  static constexpr bool has_infinity = true;
  static float widen(std::uint32_t code) { return hiptool_device::bf16_to_float(code); }
  static float dtype_widen(std::uint32_t code) {
    return to_float(BFloat16{static_cast<std::uint16_t>(code)});
  }
  template <class Real>
  static std::uint32_t narrow(Real value) {
    return hiptool_device::to_bf16(value);
  }
  static std::uint32_t dtype_narrow(float value) { return hiptool::to_bfloat16(value).bits; }
};

struct F8E4M3 {
  static constexpr unsigned bits = 8, fraction_bits = 3, canonical_nan = 0x7F;
  static constexpr int bias = 7;
  static constexpr bool has_infinity = false;
  static float widen(std::uint32_t code) { return hiptool_device::f8e4m3_to_float(code); }
  static float dtype_widen(std::uint32_t code) {
    return to_float(Float8E4M3{static_cast<std::uint8_t>(code)});
  }
  template <class Real>
  static std::uint32_t narrow(Real value) {
    return hiptool_device::to_f8e4m3(value);
  }
  static std::uint32_t dtype_narrow(float value) { return hiptool::to_float8_e4m3(value).bits; }
};

/// The magnitudes of a type as doubles, made from the definition of the format.
template <class Type>
class Numbers {
 public:
  Numbers() {
    const std::uint32_t end = (1u << (Type::bits - 1)) - (Type::has_infinity ? infinity_codes : 1);
    for (std::uint32_t code = 0; code <= end; ++code) values_.push_back(value_at(code));
  }

  /// The last one is what would follow the largest number.
  const std::vector<double>& values() const { return values_; }
  std::uint32_t overflow_code() const {
    return static_cast<std::uint32_t>(values_.size()) - (Type::has_infinity ? 1 : 2);
  }

  /// The code of the nearest number, found among all of them.
  std::uint32_t nearest(double value) const {
    if (std::isnan(value)) return Type::canonical_nan;
    const std::uint32_t sign = std::signbit(value) ? 1u << (Type::bits - 1) : 0;
    const double magnitude = std::fabs(value);
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    if (above == values_.end()) return sign | overflow_code();
    const auto below = static_cast<std::uint32_t>(above - values_.begin()) - 1;
    const double middle = (values_[below] + *above) / 2;  // exact
    const bool is_up = magnitude > middle || (magnitude == middle && below % 2 == 1);
    return sign | std::min(below + (is_up ? 1 : 0), overflow_code());
  }

 private:
  static constexpr std::uint32_t infinity_codes = 1u << Type::fraction_bits;

  static double value_at(std::uint32_t code) {
    const int exponent = static_cast<int>(code >> Type::fraction_bits);
    const double fraction =
        std::ldexp(code % infinity_codes, -static_cast<int>(Type::fraction_bits));
    return exponent == 0 ? std::ldexp(fraction, 1 - Type::bias)
                         : std::ldexp(1 + fraction, exponent - Type::bias);
  }

  std::vector<double> values_;
};

/// Counts what differs, so that not every one of millions is an assertion.
struct Differences {
  std::uint64_t count = 0;
  std::string first;

  template <class Input>
  void compare(Input input, std::uint32_t got, std::uint32_t expected) {
    if (got == expected) return;
    if (count++ == 0) {
      first =
          std::to_string(input) + ": " + std::to_string(got) + ", not " + std::to_string(expected);
    }
  }
};

template <class Type>
void check_narrowing(double value, const Numbers<Type>& numbers, Differences& differences) {
  const std::uint32_t expected = numbers.nearest(value);
  differences.compare(value, Type::narrow(value), expected);
  const auto single = static_cast<float>(value);
  if (static_cast<double>(single) != value) return;
  differences.compare(value, Type::narrow(single), expected);
  differences.compare(value, Type::dtype_narrow(single), expected);
}

}  // namespace

TEST_CASE_TEMPLATE("every small number is widened as dtype.hpp does it", Type, F16, Bf16, F8E4M3) {
  const Numbers<Type> numbers;
  Differences differences;
  for (std::uint32_t code = 0; code < 1u << Type::bits; ++code) {
    const float value = Type::widen(code);
    differences.compare(code, bits_of(value), bits_of(Type::dtype_widen(code)));
    const std::uint32_t magnitude = code % (1u << (Type::bits - 1));
    const bool is_finite = magnitude < numbers.overflow_code() + (Type::has_infinity ? 0 : 1);
    if (!is_finite) {
      const bool is_infinity = Type::has_infinity && magnitude == numbers.overflow_code();
      differences.compare(code, std::isinf(value), is_infinity);
      differences.compare(code, std::isnan(value), !is_infinity);
      continue;
    }
    const double expected = numbers.values()[magnitude];
    const bool is_negative = code != magnitude;
    differences.compare(code, bits_of(value),
                        bits_of(static_cast<float>(is_negative ? -expected : expected)));
  }
  CAPTURE(differences.first);
  CHECK(differences.count == 0);
}

TEST_CASE_TEMPLATE("numbers are narrowed to the nearest one, ties to even, in one rounding", Type,
                   F16, Bf16, F8E4M3) {
  const Numbers<Type> numbers;
  const std::vector<double>& values = numbers.values();
  Differences differences;
  const auto check = [&](double value) {
    check_narrowing<Type>(value, numbers, differences);
    check_narrowing<Type>(-value, numbers, differences);
  };
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double middle = (values[i] + values[i + 1]) / 2;
    const auto single = static_cast<float>(middle);
    REQUIRE(static_cast<double>(single) == middle);
    check(values[i]);
    check(middle);
    for (const double side : {0.0, std::numeric_limits<double>::infinity()}) {
      check(std::nextafter(middle, side));
      check(static_cast<double>(std::nextafter(single, static_cast<float>(side))));
    }
  }
  for (const double value :
       {values.back(), 0x1p120, 0x1p1000, 0x1.fffffep127, 0x1.ffffffp127, 1e-40, 1e-300,
        std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
        std::numeric_limits<double>::infinity()}) {
    check(value);
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 1000000; ++i) {
    const std::uint64_t bits = random();
    const auto any = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(any)) check(static_cast<double>(any));
    // Of the range that the type has, with all digits of a double.
    const double digits = 1 + static_cast<double>(bits >> 12) * 0x1p-52;
    check(std::ldexp(digits, static_cast<int>(bits % (2 * Type::bias + 24)) - Type::bias - 12));
  }
  CAPTURE(differences.first);
  CHECK(differences.count == 0);
}

TEST_CASE_TEMPLATE("every NaN is narrowed to the same bits", Type, F16, Bf16, F8E4M3) {
  for (const std::uint32_t bits :
       {0x7F800001u, 0x7FBFFFFFu, 0x7FC00000u, 0xFFC00000u, 0xFFFFFFFFu}) {
    CAPTURE(bits);
    CHECK(Type::narrow(std::bit_cast<float>(bits)) == Type::canonical_nan);
    CHECK(std::isnan(Type::dtype_widen(Type::dtype_narrow(std::bit_cast<float>(bits)))));
  }
  for (const std::uint64_t bits :
       {0x7FF0000000000001u, 0x7FF8000000000000u, 0xFFF8000000000000u, 0xFFFFFFFFFFFFFFFFu}) {
    CAPTURE(bits);
    CHECK(Type::narrow(std::bit_cast<double>(bits)) == Type::canonical_nan);
  }
}

TEST_CASE("NaN gets its canonical bits, and numbers stay") {
  using hiptool_device::canonical;
  CHECK(bits_of(canonical(std::bit_cast<float>(0xFFC01234u))) == 0x7FC00000u);
  CHECK(bits_of(canonical(-0.0f)) == 0x80000000u);
  CHECK(std::bit_cast<std::uint64_t>(canonical(std::bit_cast<double>(0xFFF8000000000001u))) ==
        0x7FF8000000000000u);
  CHECK(canonical(-1.5) == -1.5);
  CHECK(bits_of(hiptool_device::to_f32(std::bit_cast<double>(0xFFF0000000000001u))) == 0x7FC00000u);
  CHECK(hiptool_device::to_f32(0x1.000001p0) == 1.0f);
}

#if defined(__FLT16_MANT_DIG__) && defined(__SSE2__)
TEST_CASE("the compiler's own binary16 agrees") {
  Differences differences;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto half = std::bit_cast<_Float16>(static_cast<std::uint16_t>(code));
    const float value = hiptool_device::f16_to_float(code);
    if (!std::isnan(value)) {
      differences.compare(code, bits_of(value), bits_of(static_cast<float>(half)));
    }
  }
  std::mt19937_64 random(6);
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t bits = random();
    const double digits = 1 + static_cast<double>(bits >> 12) * 0x1p-52;
    const double value = std::ldexp(digits, static_cast<int>(bits % 50) - 30);
    const auto half = static_cast<_Float16>(value);
    differences.compare(value, hiptool_device::to_f16(value), std::bit_cast<std::uint16_t>(half));
  }
  CAPTURE(differences.first);
  CHECK(differences.count == 0);
}
#endif
