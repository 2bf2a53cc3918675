// SPDX-License-Identifier: MIT
#include "reference/ops/values.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace hiptool::reference {
namespace {

/// A binary format: digits of the significand, exponents of the least normal and the largest
/// number.
struct Format {
  int digits;
  int least_exponent;  // of the least normal number, as frexp counts: 0.5 <= fraction < 1
  long double most;
  bool saturates;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {11, -13, 65504.0L, false};
    case DType::bf16: return {8, -125, 0x1.FEp127L, false};
    case DType::f32: return {24, -125, 0x1.FFFFFEp127L, false};
    case DType::f8e4m3: return {4, -5, 448.0L, true};
    default: return {53, -1021, 0x1.FFFFFFFFFFFFFp1023L, false};
  }
}

long double ulp_in(const Format& format, long double value) {
  int exponent = format.least_exponent;
  if (value != 0 && std::isfinite(value)) {
    int own = 0;
    std::frexp(value, &own);
    if (own > exponent) exponent = own;
  }
  return std::ldexp(1.0L, exponent - format.digits);
}

// To nearest, ties to even: rint rounds so, and the scaling by powers of two is exact.
long double rounded(const Format& format, long double value) {
  if (!std::isfinite(value) && !(format.saturates && std::isinf(value))) return value;
  if (std::isinf(value)) return std::copysign(format.most, value);
  const long double ulp = ulp_in(format, value);
  const long double result = std::rint(value / ulp) * ulp;
  if (std::fabs(result) <= format.most) return std::copysign(result, value);
  if (format.saturates) return std::copysign(format.most, value);
  return std::copysign(std::numeric_limits<long double>::infinity(), value);
}

template <class Number>
void put(std::vector<std::byte>& bytes, std::size_t index, Number number) {
  std::memcpy(bytes.data() + index * sizeof number, &number, sizeof number);
}
template <class Number>
Number get(std::span<const std::byte> bytes, std::size_t index) {
  Number number;
  std::memcpy(&number, bytes.data() + index * sizeof number, sizeof number);
  return number;
}

/// Sign, exponent and fraction of a value that the format holds, put together by hand.
std::uint32_t small_bits(long double value, int fraction_bits, int bias, std::uint32_t nan,
                         std::uint32_t infinity, int width) {
  if (std::isnan(value)) return nan;
  const std::uint32_t sign = std::signbit(value) ? 1u << (width - 1) : 0;
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  int exponent = 0;
  const long double fraction = std::frexp(std::fabs(value), &exponent);
  const int stored = exponent - 1 + bias;
  if (stored <= 0) {
    const long double scaled = std::ldexp(std::fabs(value), bias - 1 + fraction_bits);
    return sign | static_cast<std::uint32_t>(scaled);
  }
  const long double scaled = std::ldexp(fraction * 2 - 1, fraction_bits);
  return sign | static_cast<std::uint32_t>(stored) << fraction_bits |
         static_cast<std::uint32_t>(scaled);
}

long double small_value(std::uint32_t bits, int fraction_bits, int bias, int width) {
  const std::uint32_t magnitude = bits & ((1u << (width - 1)) - 1);
  const int exponent = static_cast<int>(magnitude >> fraction_bits);
  const auto fraction = static_cast<long double>(magnitude & ((1u << fraction_bits) - 1));
  const bool is_negative = bits >> (width - 1) != 0;
  const int most_exponent = (1 << (width - 1 - fraction_bits)) - 1;
  long double value = 0;
  if (width == 8 ? magnitude == 0x7F : exponent == most_exponent) {
    value = width == 8 || fraction != 0 ? std::numeric_limits<long double>::quiet_NaN()
                                        : std::numeric_limits<long double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    value = std::ldexp(1 + std::ldexp(fraction, -fraction_bits), exponent - bias);
  }
  return is_negative ? -value : value;
}

void put_value(DType dtype, std::vector<std::byte>& bytes, std::size_t i, long double value) {
  const long double number = is_floating_point(dtype) ? rounded(format_of(dtype), value) : value;
  switch (dtype) {
    case DType::u8: put(bytes, i, static_cast<std::uint8_t>(number)); break;
    case DType::i8: put(bytes, i, static_cast<std::int8_t>(number)); break;
    case DType::u32: put(bytes, i, static_cast<std::uint32_t>(number)); break;
    case DType::i16: put(bytes, i, static_cast<std::int16_t>(number)); break;
    case DType::i32: put(bytes, i, static_cast<std::int32_t>(number)); break;
    case DType::i64: put(bytes, i, static_cast<std::int64_t>(number)); break;
    case DType::f16:
      put(bytes, i, static_cast<std::uint16_t>(small_bits(number, 10, 15, 0x7E00, 0x7C00, 16)));
      break;
    case DType::bf16:
      put(bytes, i, static_cast<std::uint16_t>(small_bits(number, 7, 127, 0x7FC0, 0x7F80, 16)));
      break;
    case DType::f8e4m3:
      put(bytes, i, static_cast<std::uint8_t>(small_bits(number, 3, 7, 0x7F, 0x7E, 8)));
      break;
    case DType::f32:
      put(bytes, i,
          std::isnan(number) ? std::numeric_limits<float>::quiet_NaN()
                             : static_cast<float>(number));
      break;
    case DType::f64:
      put(bytes, i,
          std::isnan(number) ? std::numeric_limits<double>::quiet_NaN()
                             : static_cast<double>(number));
      break;
  }
}

long double get_value(DType dtype, std::span<const std::byte> bytes, std::size_t i) {
  switch (dtype) {
    case DType::u8: return get<std::uint8_t>(bytes, i);
    case DType::i8: return get<std::int8_t>(bytes, i);
    case DType::u32: return get<std::uint32_t>(bytes, i);
    case DType::i16: return get<std::int16_t>(bytes, i);
    case DType::i32: return get<std::int32_t>(bytes, i);
    case DType::i64: return static_cast<long double>(get<std::int64_t>(bytes, i));
    case DType::f16: return small_value(get<std::uint16_t>(bytes, i), 10, 15, 16);
    case DType::bf16: return small_value(get<std::uint16_t>(bytes, i), 7, 127, 16);
    case DType::f8e4m3: return small_value(get<std::uint8_t>(bytes, i), 3, 7, 8);
    case DType::f32: return get<float>(bytes, i);
    case DType::f64: return get<double>(bytes, i);
  }
  return 0;
}

}  // namespace

Values values_of(DType dtype, std::span<const std::byte> bytes,
                 std::span<const std::uint64_t> dims) {
  Values values{{dims.begin(), dims.end()}, {}};
  values.at.resize(bytes.size() / element_size_bytes(dtype));
  for (std::size_t i = 0; i < values.at.size(); ++i) values.at[i] = get_value(dtype, bytes, i);
  return values;
}

std::vector<std::byte> bytes_of(DType dtype, const Values& values) {
  std::vector<std::byte> bytes(values.at.size() * element_size_bytes(dtype));
  for (std::size_t i = 0; i < values.at.size(); ++i) put_value(dtype, bytes, i, values.at[i]);
  return bytes;
}

bool is_within_slack(const Expected& expected, std::size_t index, long double result) {
  const long double value = expected.values.at[index];
  if (value == 0 && result == 0 && std::signbit(value) != std::signbit(result)) return false;
  return std::fabs(result - value) <= expected.slack[index];  // not of NaN
}

long double ulp_of(DType dtype, long double value) {
  return is_floating_point(dtype) ? ulp_in(format_of(dtype), value) : 0;
}

}  // namespace hiptool::reference
