// SPDX-License-Identifier: MIT
#include "user_kernel/element_value.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::user_kernel;

namespace {

constexpr std::array all_types{ElementType::i8,   ElementType::u8,  ElementType::i16,
                               ElementType::u16,  ElementType::i32, ElementType::u32,
                               ElementType::i64,  ElementType::u64, ElementType::f16,
                               ElementType::bf16, ElementType::f32, ElementType::f64};

std::uint64_t bits(const char* type, const char* text) {
  const ElementType of = parse_element_type(type);
  const auto bytes = parse_element(of, text);
  CHECK(bytes.size() == size_bytes(of));
  return bits_of(of, bytes);
}

struct Refused {
  std::string type;
  std::string text;
};

bool is_refused(const std::string& type, const std::string& text) {
  try {
    parse_element(parse_element_type(type), text);
  } catch (const Error& error) {
    return error.code() == ErrorCode::invalid_argument && !error.hint().empty();
  }
  return false;
}

template <class Number>
Number element(const std::vector<std::byte>& bytes, std::size_t index) {
  Number number{};
  std::memcpy(&number, bytes.data() + index * sizeof(number), sizeof(number));
  return number;
}

}  // namespace

TEST_CASE("types by their names") {
  for (const ElementType type : all_types) CHECK(parse_element_type(to_string(type)) == type);
  for (const char* name : {"", "int", "f31", "I32", "u128"}) {
    CHECK_THROWS_AS(parse_element_type(name), Error);
  }
}

TEST_CASE("whole numbers: every limit, and one beyond it") {
  CHECK(bits("i8", "-128") == 0x80);
  CHECK(bits("i8", "127") == 0x7f);
  CHECK(bits("i8", "0xff") == 0xff);
  CHECK(bits("u8", "255") == 0xff);
  CHECK(bits("i16", "-32768") == 0x8000);
  CHECK(bits("i32", "-2147483648") == 0x80000000u);
  CHECK(bits("u32", "4294967295") == 0xffffffffu);
  CHECK(bits("i64", "-9223372036854775808") == std::uint64_t{1} << 63);
  CHECK(bits("i64", "9223372036854775807") == ~std::uint64_t{0} >> 1);
  CHECK(bits("u64", "18446744073709551615") == ~std::uint64_t{0});
  CHECK(bits("u64", "0xffffffffffffffff") == ~std::uint64_t{0});
  for (const Refused& one : std::initializer_list<Refused>{{"i8", "128"},
                                                           {"i8", "-129"},
                                                           {"i8", "0x100"},
                                                           {"u8", "256"},
                                                           {"u8", "-1"},
                                                           {"u32", "4294967296"},
                                                           {"i32", "2147483648"},
                                                           {"i32", "-2147483649"},
                                                           {"i32", "-0x1"},
                                                           {"i64", "9223372036854775808"},
                                                           {"i64", "-9223372036854775809"},
                                                           {"u64", "18446744073709551616"},
                                                           {"i32", ""},
                                                           {"i32", "-"},
                                                           {"i32", "1.5"},
                                                           {"i32", "1 "},
                                                           {"i32", " 1"},
                                                           {"i32", "+1"},
                                                           {"i32", "0x"},
                                                           {"i32", "--1"}}) {
    CAPTURE(one.type);
    CAPTURE(one.text);
    CHECK(is_refused(one.type, one.text));
  }
}

// Bits as numpy 1.24 and the definition of bfloat16 have them.
TEST_CASE("reals are rounded to the nearest, ties to even") {
  CHECK(bits("f16", "1") == 0x3c00);
  CHECK(bits("f16", "-2.5") == 0xc100);
  CHECK(bits("f16", "65504") == 0x7bff);
  CHECK(bits("f16", "65519.99") == 0x7bff);
  CHECK(bits("f16", "1.00048828125") == 0x3c00);      // a tie, down to even
  CHECK(bits("f16", "1.00146484375") == 0x3c02);      // a tie, up to even
  CHECK(bits("f16", "5.9604644775390625e-08") == 1);  // the least
  CHECK(bits("f16", "2.98023223876953125e-08") == 0);
  CHECK(bits("f16", "6.103515625e-05") == 0x0400);
  CHECK(bits("f16", "6.097555160522461e-05") == 0x03ff);
  CHECK(bits("f16", "-0") == 0x8000);
  CHECK(bits("f16", "inf") == 0x7c00);
  CHECK(bits("f16", "-inf") == 0xfc00);
  CHECK(bits("f16", "nan") == 0x7e00);
  CHECK(bits("bf16", "1") == 0x3f80);
  CHECK(bits("bf16", "3.140625") == 0x4049);
  CHECK(bits("bf16", "3.3895313892515355e+38") == 0x7f7f);
  CHECK(bits("bf16", "9.183549615799121e-41") == 1);
  CHECK(bits("f32", "0.1") == 0x3dcccccd);
  CHECK(bits("f32", "3.4028234663852886e+38") == 0x7f7fffff);
  CHECK(bits("f32", "1.00000017881393432617187499") == 0x3f800001);  // not by way of double
  CHECK(bits("f64", "0.1") == 0x3fb999999999999au);
  for (const Refused& one : std::initializer_list<Refused>{{"f16", "65520"},
                                                           {"f16", "-1e5"},
                                                           {"f16", "1e300"},
                                                           {"bf16", "1e300"},
                                                           {"bf16", "3.4e38"},
                                                           {"f32", "1e39"},
                                                           {"f64", "1e309"},
                                                           {"f32", ""},
                                                           {"f32", "1,5"},
                                                           {"f32", "one"},
                                                           {"f32", "1.5f"}}) {
    CAPTURE(one.type);
    CAPTURE(one.text);
    CHECK(is_refused(one.type, one.text));
  }
}

TEST_CASE("all 65536 narrow reals come back as the bits they were") {
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    std::uint64_t wrong = 0;
    for (std::uint32_t number = 0; number < 65536; ++number) {
      std::vector<std::byte> bytes(2);
      std::memcpy(bytes.data(), &number, 2);
      const double value = real_of(type, bytes);
      if (std::isnan(value)) continue;
      char text[64];
      std::snprintf(text, sizeof(text), "%.17g", value);
      wrong += bits_of(type, parse_element(type, text)) != number ? 1u : 0u;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("values are shown as their type reads them") {
  const std::vector<std::byte> ones(8, std::byte{0xff});
  CHECK(std::get<std::int64_t>(value_of(ElementType::i8, ones).data()) == -1);
  CHECK(std::get<std::int64_t>(value_of(ElementType::i64, ones).data()) == -1);
  CHECK(std::get<std::uint64_t>(value_of(ElementType::u16, ones).data()) == 65535);
  CHECK(std::get<std::uint64_t>(value_of(ElementType::u64, ones).data()) == ~std::uint64_t{0});
  const auto half = parse_element(ElementType::f16, "0.5");
  CHECK(std::get<double>(value_of(ElementType::f16, half).data()) == 0.5);
}

TEST_CASE("counting wraps around in whole types and rounds in reals") {
  const auto bytes = iota(ElementType::u8, 300);
  REQUIRE(bytes.size() == 300);
  CHECK(element<std::uint8_t>(bytes, 255) == 255);
  CHECK(element<std::uint8_t>(bytes, 256) == 0);
  CHECK(element<float>(iota(ElementType::f32, 1000), 999) == 999.0f);
  CHECK(element<std::uint16_t>(iota(ElementType::f16, 2050), 2049) == 0x6800);  // 2048
  CHECK(element<std::uint16_t>(iota(ElementType::f16, 100'001), 100'000) == 0x7c00);
}

TEST_CASE("random elements: by the seed alone, and reals below 1") {
  for (const ElementType type : all_types) {
    const auto one = random_elements(type, 4096, 7);
    CHECK(one == random_elements(type, 4096, 7));
    CHECK(one != random_elements(type, 4096, 8));
    const auto shorter = random_elements(type, 10, 7);
    CHECK(std::equal(shorter.begin(), shorter.end(), one.begin()));
    if (!is_real(type)) continue;
    double sum = 0;
    for (std::size_t i = 0; i < 4096; ++i) {
      const double value = real_of(type, std::span(one).subspan(i * size_bytes(type)));
      CHECK_UNARY(value >= 0 && value < 1);
      sum += value;
    }
    CHECK(sum / 4096 == doctest::Approx(0.5).epsilon(0.05));
  }
  // The first number of splitmix64 with the seed 0, as its authors' program prints it.
  CHECK(element<std::uint64_t>(random_elements(ElementType::u64, 1, 0), 0) == 0xe220a8397b1dcdafu);
}
