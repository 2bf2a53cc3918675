// SPDX-License-Identifier: MIT
#include "ops/scalar.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace hiptool::ops {
namespace {

/// Rounded to odd: what does not fit is kept in the last bit, so that rounding once more, to a type
/// that has two bits less, gives what rounding once gives.
double odd_double(std::int64_t number) {
  auto size = static_cast<std::uint64_t>(number);
  if (number < 0) size = 0 - size;
  if (size >> 53 != 0) size = (size >> 11 | ((size & 0x7FF) != 0 ? 1u : 0u)) << 11;
  const auto result = static_cast<double>(size);
  return number < 0 ? -result : result;
}

float odd_float(double number) {
  const auto nearest = static_cast<float>(number);
  if (double{nearest} == number || std::isnan(number)) return nearest;
  if ((std::bit_cast<std::uint32_t>(nearest) & 1u) != 0) return nearest;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  return std::nextafter(nearest, number > double{nearest} ? infinity : -infinity);
}

float small_source(const Scalar& number) {
  if (number.is_whole()) return odd_float(odd_double(number.whole()));
  return std::isnan(number.real()) ? std::numeric_limits<float>::quiet_NaN()
                                   : odd_float(number.real());
}

template <class Whole>
std::int64_t clamped(double number) {
  constexpr Whole least = std::numeric_limits<Whole>::min();
  constexpr Whole most = std::numeric_limits<Whole>::max();
  if (std::isnan(number)) return 0;
  if (number <= static_cast<double>(least)) return least;
  return number >= static_cast<double>(most) ? most : static_cast<std::int64_t>(number);
}

template <class Whole>
std::int64_t whole_as(const Scalar& number) {
  return number.is_whole() ? static_cast<Whole>(number.whole()) : clamped<Whole>(number.real());
}

}  // namespace

std::int64_t whole_in(const Scalar& number, DType dtype) noexcept {
  switch (dtype) {
    case DType::u8: return whole_as<std::uint8_t>(number);
    case DType::u32: return whole_as<std::uint32_t>(number);
    case DType::i16: return whole_as<std::int16_t>(number);
    case DType::i32: return whole_as<std::int32_t>(number);
    default: return whole_as<std::int64_t>(number);
  }
}

double real_in(const Scalar& number, DType dtype) noexcept {
  switch (dtype) {
    case DType::f16: return to_float(to_half(small_source(number)));
    case DType::bf16: return to_float(to_bfloat16(small_source(number)));
    case DType::f8e4m3: return to_float(to_float8_e4m3(small_source(number)));
    case DType::f32:
      return number.is_whole() ? static_cast<float>(number.whole())
                               : static_cast<float>(number.real());
    default: return number.is_whole() ? static_cast<double>(number.whole()) : number.real();
  }
}

std::uint64_t bits_in(const Scalar& number, DType dtype) noexcept {
  if (!is_floating_point(dtype)) return static_cast<std::uint64_t>(whole_in(number, dtype));
  double real = real_in(number, dtype);
  if (std::isnan(real)) real = std::numeric_limits<double>::quiet_NaN();
  switch (dtype) {
    case DType::f16: return to_half(static_cast<float>(real)).bits;
    case DType::bf16: return to_bfloat16(static_cast<float>(real)).bits;
    case DType::f8e4m3: return to_float8_e4m3(static_cast<float>(real)).bits;
    case DType::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(real));
    default: return std::bit_cast<std::uint64_t>(real);
  }
}

}  // namespace hiptool::ops
