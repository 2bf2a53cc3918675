// SPDX-License-Identifier: MIT
#include "reference/prove/values.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "model/element_types.hpp"

using namespace hiptool;
using namespace hiptool::reference;

namespace {

/// A block in hexadecimal, and the sums of each eighth of its values, weighted 1, 2, 3, ...
struct ValueVector {
  std::string_view type;
  std::string_view block;
  std::array<double, 8> sums;
};

// Random blocks, of which the Python package gguf gives the values (Q1_0 and Q2_0: numpy).
const ValueVector vectors[] = {
#include "value_vectors.inc"
};

ElementType type_named(std::string_view name) {
  if (const model::GgufType* type = model::find_gguf_type(name)) return ElementType(type->entry);
  return ElementType(model::find_safetensors_type(name)->entry);
}

std::vector<std::byte> bytes_of(std::string_view hexadecimal) {
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < hexadecimal.size(); at += 2) {
    const std::string digits(hexadecimal.substr(at, 2));
    bytes.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
  }
  return bytes;
}

std::vector<double> values_of(std::string_view type, std::string_view hexadecimal) {
  const std::vector<std::byte> bytes = bytes_of(hexadecimal);
  const ElementType element = type_named(type);
  std::vector<double> values(bytes.size() * 8 / element.block_bits() * element.block_elements());
  to_doubles(element, bytes, values);
  return values;
}

}  // namespace

TEST_CASE("values: every quantised type of weights, by the values of the package gguf") {
  std::size_t found = 0;
  for (const ValueVector& vector : vectors) {
    CAPTURE(vector.type);
    const std::vector<double> values = values_of(vector.type, vector.block);
    const std::size_t part = values.size() / 8;
    for (std::size_t number = 0; number < 8; ++number) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t i = 0; i < part; ++i) {
        const double term = values[number * part + i] * static_cast<double>(i + 1);
        sum += term;
        magnitude += std::abs(term);
      }
      CAPTURE(number);
      CHECK(std::abs(sum - vector.sums[number]) <= 2e-7 * magnitude);
    }
    ++found;
  }
  std::size_t wanted = 0;
  for (const model::GgufType& type : model::gguf_types()) {
    if (type.entry.block_elements > 1 && has_values(ElementType(type.entry))) ++wanted;
  }
  CHECK(found == wanted);
  CHECK(found == 25);
}

TEST_CASE("values: floating-point types") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(values_of("F32", "0000803f000020c1ffff7f7f01000000") ==
        std::vector<double>{1, -10, 3.4028234663852886e38, std::ldexp(1.0, -149)});
  CHECK(values_of("F64", "182d4454fb2109c0") == std::vector<double>{-3.141592653589793});
  CHECK(values_of("F16", "003c00c0ff7b0100ff03007c") ==
        std::vector<double>{1, -2, 65504, std::ldexp(1.0, -24), std::ldexp(1023.0, -24), infinity});
  CHECK(values_of("BF16", "803f20c1") == std::vector<double>{1, -10});
  CHECK(values_of("F8_E4M3", "38c07e01") == std::vector<double>{1, -2, 448, std::ldexp(1.0, -9)});
  CHECK(values_of("F8_E5M2", "3cc07b017c") ==
        std::vector<double>{1, -2, 57344, std::ldexp(1.0, -16), infinity});
  CHECK(values_of("F8_E4M3FNUZ", "40c87f01") ==
        std::vector<double>{1, -2, 240, std::ldexp(1.0, -10)});
  CHECK(values_of("F8_E5M2FNUZ", "40c47f01") ==
        std::vector<double>{1, -2, 57344, std::ldexp(1.0, -17)});
  for (const auto& one :
       {std::pair{"F16", "017c"}, std::pair{"F8_E4M3", "ff"}, std::pair{"F8_E5M2", "7d"},
        std::pair{"F8_E4M3FNUZ", "80"}, std::pair{"F8_E5M2FNUZ", "80"}}) {
    CAPTURE(one.first);
    CHECK(std::isnan(values_of(one.first, one.second).front()));
  }
}

TEST_CASE("values: types that are no weights") {
  for (const char* name : {"I8", "I32", "Q8_1", "Q8_K", "BOOL", "C64", "F4"}) {
    CAPTURE(name);
    CHECK_FALSE(has_values(type_named(name)));
  }
}
