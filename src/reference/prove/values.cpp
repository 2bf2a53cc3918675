// SPDX-License-Identifier: MIT
#include "reference/prove/values.hpp"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace hiptool::reference {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Sign, exponent and mantissa as a number, whatever the highest exponent means.
double finite_float(std::uint32_t bits, int exponent_bits, int mantissa_bits, int bias) {
  const std::uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const auto exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const bool is_normal = exponent > 0;
  const double whole = mantissa + (is_normal ? std::ldexp(1.0, mantissa_bits) : 0.0);
  const double magnitude = std::ldexp(whole, (is_normal ? exponent : 1) - bias - mantissa_bits);
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

BlockToDoubles float_function(std::string_view type) noexcept {
  if (type == "F32") return f32_value;
  if (type == "F16") return f16_value;
  if (type == "BF16") return bf16_value;
  if (type == "F64") return f64_value;
  if (type == "F8_E4M3") return f8_e4m3_value;
  if (type == "F8_E5M2") return f8_e5m2_value;
  if (type == "F8_E4M3FNUZ") return f8_e4m3_fnuz_value;
  if (type == "F8_E5M2FNUZ") return f8_e5m2_fnuz_value;
  return nullptr;
}

BlockToDoubles block_function(std::string_view type) {
  for (const auto find :
       {float_function, small_block_function, k_block_function, iq_block_function}) {
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

bool has_values(ElementType type) noexcept { return block_function(type.name()) != nullptr; }

void to_doubles(ElementType type, std::span<const std::byte> blocks, std::span<double> values) {
  const BlockToDoubles function = block_function(type.name());
  assert(function != nullptr);
  const std::size_t block_bytes = type.block_bits() / 8;
  const std::size_t count = blocks.size() / block_bytes;
  assert(values.size() == count * type.block_elements());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(blocks.data());
  for (std::size_t block = 0; block < count; ++block) {
    function(bytes + block * block_bytes, values.data() + block * type.block_elements());
  }
}

}  // namespace hiptool::reference
