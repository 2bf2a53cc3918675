// SPDX-License-Identifier: MIT
#include "hiptool/dtype.hpp"

#include <bit>

namespace hiptool {
namespace {

struct Entry {
  std::string_view name;
  std::size_t size_bytes;
  bool is_floating_point;
};

constexpr std::array<Entry, dtypes.size() + 1> entries{{{"u8", 1, false},
                                                        {"u32", 4, false},
                                                        {"i16", 2, false},
                                                        {"i32", 4, false},
                                                        {"i64", 8, false},
                                                        {"f16", 2, true},
                                                        {"bf16", 2, true},
                                                        {"f32", 4, true},
                                                        {"f64", 8, true},
                                                        {"f8e4m3", 1, true},
                                                        {"i8", 1, false}}};

constexpr Entry unknown{"unknown", 0, false};

const Entry& entry_of(DType dtype) noexcept {
  const auto place = static_cast<std::size_t>(dtype);
  return place < entries.size() ? entries[place] : unknown;
}

constexpr std::uint32_t float_sign = 0x8000'0000;
constexpr std::uint32_t float_infinity = 0x7F80'0000;
constexpr int float_fraction_bits = 23;
constexpr int float_bias = 127;

/// Shape of a format whose exponent is narrower than a float's.
struct Shape {
  int fraction_bits;
  int bias;
};
constexpr Shape half_shape{10, 15};
constexpr Shape float8_shape{3, 7};

// Drops the lowest bits, rounding to nearest, ties to even. A carry goes into the bits above, which
// is right for an encoded number: the fraction becomes zero and the exponent one larger.
constexpr std::uint32_t shift_and_round(std::uint32_t value, int shift) {
  const std::uint32_t kept = value >> shift;
  const std::uint32_t rest = value & ((1u << shift) - 1);
  const std::uint32_t tie = 1u << (shift - 1);
  return kept + (rest > tie || (rest == tie && (kept & 1) != 0) ? 1 : 0);
}

// The encoding of a finite magnitude in the narrower format, as if its exponent had no upper end.
constexpr std::uint32_t encode(std::uint32_t magnitude, Shape shape) {
  const int dropped = float_fraction_bits - shape.fraction_bits;
  const int exponent = static_cast<int>(magnitude >> float_fraction_bits) - float_bias + shape.bias;
  if (exponent > 0) {
    const auto rebias = static_cast<std::uint32_t>(float_bias - shape.bias);
    return shift_and_round(magnitude - (rebias << float_fraction_bits), dropped);
  }
  // Subnormal there: the fraction with its leading one, in units of the smallest number. From 25
  // bits on (and for float's own subnormals, far below) even a half of that unit is not reached.
  const int shift = dropped + 1 - exponent;
  if (shift > float_fraction_bits + 1) return 0;
  const std::uint32_t fraction = magnitude & ((1u << float_fraction_bits) - 1);
  return shift_and_round(fraction | (1u << float_fraction_bits), shift);
}

// The value of a finite encoding without its sign.
float decode(std::uint32_t encoded, Shape shape) {
  const std::uint32_t exponent = encoded >> shape.fraction_bits;
  const int dropped = float_fraction_bits - shape.fraction_bits;
  const auto rebias = static_cast<std::uint32_t>(float_bias - shape.bias);
  if (exponent != 0) {
    return std::bit_cast<float>((encoded << dropped) + (rebias << float_fraction_bits));
  }
  // Subnormal numbers are multiples of the smallest one, a power of two: the product is exact.
  const auto smallest =
      static_cast<std::uint32_t>(float_bias + 1 - shape.bias - shape.fraction_bits);
  return static_cast<float>(encoded) * std::bit_cast<float>(smallest << float_fraction_bits);
}

float with_sign(float magnitude, bool is_negative) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) |
                              (is_negative ? float_sign : 0));
}

constexpr std::uint32_t half_infinity = 0x7C00;
constexpr std::uint32_t half_quiet = 0x0200;
constexpr std::uint32_t float8_largest = 0x7E;
constexpr std::uint32_t float8_nan = 0x7F;
constexpr std::uint32_t float_quiet = 0x0040'0000;

}  // namespace

std::string_view to_string(DType dtype) noexcept { return entry_of(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::size_t element_size_bytes(DType dtype) noexcept { return entry_of(dtype).size_bytes; }

bool is_floating_point(DType dtype) noexcept { return entry_of(dtype).is_floating_point; }

float to_float(Half value) noexcept {
  const std::uint32_t magnitude = value.bits & 0x7FFFu;
  const bool is_negative = (value.bits & 0x8000) != 0;
  if (magnitude < half_infinity) return with_sign(decode(magnitude, half_shape), is_negative);
  const std::uint32_t payload = (magnitude - half_infinity) << 13;
  const std::uint32_t quiet = payload != 0 ? float_quiet : 0;
  return with_sign(std::bit_cast<float>(float_infinity | quiet | payload), is_negative);
}

float to_float(BFloat16 value) noexcept {
  std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
  if ((bits & ~float_sign) > float_infinity) bits |= float_quiet;
  return std::bit_cast<float>(bits);
}

float to_float(Float8E4M3 value) noexcept {
  const std::uint32_t magnitude = value.bits & 0x7Fu;
  const bool is_negative = (value.bits & 0x80) != 0;
  if (magnitude == float8_nan) {
    return with_sign(std::bit_cast<float>(float_infinity | float_quiet), is_negative);
  }
  return with_sign(decode(magnitude, float8_shape), is_negative);
}

Half to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~float_sign;
  std::uint32_t encoded = half_infinity;
  if (magnitude > float_infinity) {
    encoded = half_infinity | half_quiet | ((magnitude >> 13) & 0x3FF);
  } else if (magnitude < float_infinity) {
    const std::uint32_t rounded = encode(magnitude, half_shape);
    if (rounded < half_infinity) encoded = rounded;
  }
  return Half{static_cast<std::uint16_t>(encoded | (bits & float_sign) >> 16)};
}

BFloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & ~float_sign) > float_infinity) {
    return BFloat16{static_cast<std::uint16_t>((bits | float_quiet) >> 16)};
  }
  return BFloat16{static_cast<std::uint16_t>(shift_and_round(bits, 16))};
}

Float8E4M3 to_float8_e4m3(float value, Float8Overflow overflow) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~float_sign;
  const auto sign = static_cast<std::uint8_t>((bits & float_sign) >> 24);
  std::uint32_t encoded = float8_nan;
  if (magnitude <= float_infinity) {
    const std::uint32_t rounded =
        magnitude < float_infinity ? encode(magnitude, float8_shape) : float8_nan;
    const bool fits = rounded <= float8_largest;
    if (fits) encoded = rounded;
    if (!fits && overflow == Float8Overflow::saturate) encoded = float8_largest;
  }
  return Float8E4M3{static_cast<std::uint8_t>(encoded | sign)};
}

}  // namespace hiptool
