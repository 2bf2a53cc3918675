// SPDX-License-Identifier: MIT
#include "reference/prove/values.hpp"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace hiptool::reference {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// 2^exponent, of a normal number.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// Sign, exponent and mantissa as a number, whatever the highest exponent means.
double finite_float(std::uint32_t bits, int exponent_bits, int mantissa_bits, int bias) {
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const auto exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const bool is_normal = exponent > 0;
  const std::uint32_t whole = mantissa | (is_normal ? 1u << mantissa_bits : 0u);
  const double magnitude = whole * power_of_two((is_normal ? exponent : 1) - bias - mantissa_bits);
  return (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -magnitude : magnitude;
}

void f64_value(const std::uint8_t* block, double* value) { std::memcpy(value, block, 8); }

double value_of_f32(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void f32_value(const std::uint8_t* block, double* value) { *value = value_of_f32(bits_32(block)); }

void f16_value(const std::uint8_t* block, double* value) { *value = half_at(block); }

void bf16_value(const std::uint8_t* block, double* value) {
  *value = value_of_f32(bits_16(block) << 16);
}

void f8_e5m2_value(const std::uint8_t* block, double* value) { *value = small_float(*block, 5, 2); }

// Without infinities (Micikevicius et al. 2022); the FNUZ types also without -0.
void f8_e4m3_value(const std::uint8_t* block, double* value) {
  *value = (*block & 0x7F) == 0x7F ? not_a_number : finite_float(*block, 4, 3, 7);
}

void f8_e4m3_fnuz_value(const std::uint8_t* block, double* value) {
  *value = *block == 0x80 ? not_a_number : finite_float(*block, 4, 3, 8);
}

void f8_e5m2_fnuz_value(const std::uint8_t* block, double* value) {
  *value = *block == 0x80 ? not_a_number : finite_float(*block, 5, 2, 16);
}

// One of the functions above for each element.
template <BlockToDoubles Function, std::size_t Bytes>
void floats_to_doubles(const std::uint8_t* bytes, std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) Function(bytes + Bytes * i, &values[i]);
}

using FloatsFunction = void (*)(const std::uint8_t* bytes, std::span<double> values);

FloatsFunction float_function(std::string_view type) noexcept {
  if (type == "F32") return floats_to_doubles<f32_value, 4>;
  if (type == "F16") return floats_to_doubles<f16_value, 2>;
  if (type == "BF16") return floats_to_doubles<bf16_value, 2>;
  if (type == "F64") return floats_to_doubles<f64_value, 8>;
  if (type == "F8_E4M3") return floats_to_doubles<f8_e4m3_value, 1>;
  if (type == "F8_E5M2") return floats_to_doubles<f8_e5m2_value, 1>;
  if (type == "F8_E4M3FNUZ") return floats_to_doubles<f8_e4m3_fnuz_value, 1>;
  if (type == "F8_E5M2FNUZ") return floats_to_doubles<f8_e5m2_fnuz_value, 1>;
  return nullptr;
}

BlockToDoubles block_function(std::string_view type) noexcept {
  for (const auto find : {small_block_function, k_block_function, iq_block_function}) {
    if (const BlockToDoubles function = find(type)) return function;
  }
  return nullptr;
}

}  // namespace

double small_float(std::uint32_t bits, int exponent_bits, int mantissa_bits) noexcept {
  const std::uint32_t highest = (1u << exponent_bits) - 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if ((bits >> mantissa_bits & highest) != highest) {
    return finite_float(bits, exponent_bits, mantissa_bits, bias);
  }
  if ((bits & ((1u << mantissa_bits) - 1)) != 0) return not_a_number;
  const double infinity = std::numeric_limits<double>::infinity();
  return (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -infinity : infinity;
}

void packed_to_doubles(std::span<const std::byte> codes, std::span<const std::byte> exponents,
                       std::span<double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto byte = static_cast<std::uint32_t>(codes[i / 2]);
    const std::uint32_t code = byte >> (i % 2 * 4) & 15;
    // A sign, two bits of exponent and one of fraction, all finite.
    const double number = finite_float(code, 2, 1, 1);
    const auto exponent = static_cast<int>(exponents[i / 32]);
    values[i] = exponent == 255 ? not_a_number : std::ldexp(number, exponent - 127);
  }
}

bool has_values(ElementType type) noexcept {
  return float_function(type.name()) != nullptr || block_function(type.name()) != nullptr;
}

ToDoubles::ToDoubles(ElementType type) noexcept
    : floats_(float_function(type.name())),
      block_(block_function(type.name())),
      block_bytes_(type.block_bits() / 8),
      block_elements_(static_cast<std::size_t>(type.block_elements())) {
  assert(floats_ != nullptr || block_ != nullptr);
}

void ToDoubles::operator()(std::span<const std::byte> blocks,
                           std::span<double> values) const noexcept {
  const std::size_t count = blocks.size() / block_bytes_;
  assert(values.size() == count * block_elements_);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(blocks.data());
  if (floats_ != nullptr) {
    floats_(bytes, values);
    return;
  }
  for (std::size_t block = 0; block < count; ++block) {
    block_(bytes + block * block_bytes_, values.data() + block * block_elements_);
  }
}

void to_doubles(ElementType type, std::span<const std::byte> blocks, std::span<double> values) {
  ToDoubles{type}(blocks, values);
}

}  // namespace hiptool::reference
