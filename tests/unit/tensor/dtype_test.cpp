// SPDX-License-Identifier: MIT
#include "hiptool/dtype.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>

using namespace hiptool;

namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

constexpr float infinity = std::numeric_limits<float>::infinity();

// A finite encoding's value, straight from the definition: sign, exponent, fraction.
double value_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1));
  const double unit = std::ldexp(1.0, -fraction_bits);
  const double magnitude = exponent == 0 ? std::ldexp(fraction * unit, 1 - bias)
                                         : std::ldexp(1.0 + fraction * unit, exponent - bias);
  return (bits >> (exponent_bits + fraction_bits)) != 0 ? -magnitude : magnitude;
}

}  // namespace

TEST_CASE("names and sizes go there and back, in one spelling") {
  std::set<std::string> names;
  for (const DType dtype : dtypes) {
    const std::string name(to_string(dtype));
    CAPTURE(name);
    names.insert(name);
    CHECK(dtype_from_name(name) == dtype);
    const bool is_f8 = dtype == DType::f8e4m3;
    const std::size_t digits = name.find_first_of("0123456789");
    CHECK(element_size_bytes(dtype) * 8 == (is_f8 ? 8 : std::stoul(name.substr(digits))));
    CHECK(is_floating_point(dtype) == (name.find('f') != std::string::npos));
  }
  CHECK(names.size() == 10);
  for (const char* name : {"", "F32", "f8_e4m3", "fp8_e4m3", "f", "f3", "f322", "bool"}) {
    CAPTURE(name);
    CHECK_FALSE(dtype_from_name(name).has_value());
  }
}

TEST_CASE("C++ types have the size of their dtype") {
  const auto check = [](auto value) {
    CHECK(sizeof(value) == element_size_bytes(dtype_of<decltype(value)>()));
  };
  check(std::uint8_t{});
  check(std::uint32_t{});
  check(std::int16_t{});
  check(std::int32_t{});
  check(std::int64_t{});
  check(Half{});
  check(BFloat16{});
  check(float{});
  check(double{});
  check(Float8E4M3{});
}

TEST_CASE("all halves have their value and come back") {
  for (std::uint32_t bits = 0; bits < 65'536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    CAPTURE(bits);
    if ((bits & 0x7C00) != 0x7C00) {
      REQUIRE(static_cast<double>(value) == value_of(bits, 5, 10));
      REQUIRE(std::signbit(value) == (bits >= 0x8000));
      REQUIRE(to_half(value) == half);
    } else if ((bits & 0x3FF) == 0) {
      REQUIRE(value == (bits >= 0x8000 ? -infinity : infinity));
      REQUIRE(to_half(value) == half);
    } else {
      REQUIRE(bits_of(value) == ((bits & 0x8000) << 16 | 0x7FC0'0000 | (bits & 0x3FF) << 13));
      REQUIRE(to_half(value).bits == (bits | 0x200));
    }
  }
}

TEST_CASE("all bfloat16s have their value and come back") {
  for (std::uint32_t bits = 0; bits < 65'536; ++bits) {
    const BFloat16 number{static_cast<std::uint16_t>(bits)};
    const float value = to_float(number);
    const bool is_nan = (bits & 0x7FFF) > 0x7F80;
    CAPTURE(bits);
    REQUIRE(bits_of(value) == (bits | (is_nan ? 0x40 : 0)) << 16);
    REQUIRE(to_bfloat16(value).bits == (bits | (is_nan ? 0x40 : 0)));
  }
}

TEST_CASE("all 8-bit floats have their value and come back") {
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const Float8E4M3 number{static_cast<std::uint8_t>(bits)};
    const float value = to_float(number);
    CAPTURE(bits);
    REQUIRE(std::signbit(value) == (bits >= 0x80));
    if ((bits & 0x7F) == 0x7F) {
      REQUIRE(std::isnan(value));
    } else {
      REQUIRE(static_cast<double>(value) == value_of(bits, 4, 3));
    }
    for (const auto overflow : {Float8Overflow::saturate, Float8Overflow::to_nan}) {
      REQUIRE(to_float8_e4m3(value, overflow) == number);
    }
  }
}

TEST_CASE("halves: ties go to even, overflow to infinity, small numbers to subnormals") {
  const auto half = [](float value) { return to_half(value).bits; };
  CHECK(half(1.0F) == 0x3C00);
  CHECK(half(1.0F + 0x1p-11F) == 0x3C00);      // tie, even below
  CHECK(half(1.0F + 0x1.8p-10F) == 0x3C02);    // tie, even above
  CHECK(half(1.0F + 0x1.004p-11F) == 0x3C01);  // just above a tie
  CHECK(half(65'504.0F) == 0x7BFF);
  CHECK(half(65'519.996F) == 0x7BFF);
  CHECK(half(65'520.0F) == 0x7C00);
  CHECK(half(-65'520.0F) == 0xFC00);
  CHECK(half(std::numeric_limits<float>::max()) == 0x7C00);
  CHECK(half(0x1p-14F) == 0x0400);
  CHECK(half(0x1.ffep-15F) == 0x0400);  // rounds up into the normal numbers
  CHECK(half(0x1p-24F) == 0x0001);
  CHECK(half(0x1p-25F) == 0x0000);  // tie with zero
  CHECK(half(0x1.000002p-25F) == 0x0001);
  CHECK(half(-0x1p-26F) == 0x8000);
  CHECK(half(std::numeric_limits<float>::denorm_min()) == 0);
  CHECK(half(float_of(0x7F80'0001)) == 0x7E00);  // a signalling NaN does not become infinity
  CHECK(half(float_of(0xFFC0'2000)) == 0xFE01);
}

TEST_CASE("bfloat16: ties go to even, overflow to infinity, NaN stays") {
  const auto bfloat = [](std::uint32_t bits) { return to_bfloat16(float_of(bits)).bits; };
  CHECK(bfloat(0x3F80'8000) == 0x3F80);
  CHECK(bfloat(0x3F80'8001) == 0x3F81);
  CHECK(bfloat(0x3F81'8000) == 0x3F82);
  CHECK(bfloat(0x7F7F'7FFF) == 0x7F7F);
  CHECK(bfloat(0x7F7F'8000) == 0x7F80);
  CHECK(bfloat(0x0000'8000) == 0x0000);  // float's own subnormals are kept and rounded
  CHECK(bfloat(0x0000'8001) == 0x0001);
  CHECK(bfloat(0x7F80'0001) == 0x7FC0);
  CHECK(bfloat(0xFF81'0000) == 0xFFC1);
}

TEST_CASE("8-bit floats: the mode decides what becomes of too large numbers") {
  const auto saturated = [](float value) { return to_float8_e4m3(value).bits; };
  const auto strict = [](float value) {
    return to_float8_e4m3(value, Float8Overflow::to_nan).bits;
  };
  CHECK(saturated(448.0F) == 0x7E);
  CHECK(strict(464.0F) == 0x7E);  // tie, even below
  CHECK(strict(464.00003F) == 0x7F);
  CHECK(saturated(464.00003F) == 0x7E);
  CHECK(saturated(-1e30F) == 0xFE);
  CHECK(strict(-1e30F) == 0xFF);
  CHECK(saturated(infinity) == 0x7E);
  CHECK(strict(-infinity) == 0xFF);
  CHECK(saturated(std::nanf("")) == 0x7F);
  CHECK(saturated(-std::nanf("")) == 0xFF);
  CHECK(saturated(0x1p-9F) == 0x01);
  CHECK(saturated(0x1p-10F) == 0x00);  // tie with zero
  CHECK(saturated(0x1.000002p-10F) == 0x01);
  CHECK(saturated(-0x1p-10F) == 0x80);
  CHECK(saturated(0x1.ep-7F) == 0x08);  // rounds up into the normal numbers
}

#ifdef __FLT16_MANT_DIG__
TEST_CASE("halves agree with the compiler's own") {
  std::mt19937 random(42);
  const auto check = [](std::uint32_t bits) {
    const float value = float_of(bits);
    const auto own = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    CAPTURE(bits);
    REQUIRE(to_half(value).bits == own);
  };
  for (int i = 0; i < 1'000'000; ++i) check(static_cast<std::uint32_t>(random()));
  // every sign and exponent with fractions around each rounding position
  for (std::uint32_t top = 0; top < 512; ++top) {
    for (int bit = 0; bit < 23; ++bit) {
      for (const std::uint32_t fraction :
           {1u << bit, (1u << bit) - 1, (1u << bit) + 1, 3u << bit}) {
        check(top << 23 | (fraction & 0x7F'FFFF));
      }
    }
  }
}
#endif
