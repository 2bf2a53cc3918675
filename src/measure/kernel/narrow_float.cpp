// SPDX-License-Identifier: MIT
#include "measure/kernel/narrow_float.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hiptool::measure {
namespace {

/// (-1)^is_negative * magnitude * 2^exponent
struct Exact {
  bool is_negative = false;
  std::uint64_t magnitude = 0;
  int exponent = 0;

  int top() const { return exponent + static_cast<int>(std::bit_width(magnitude)); }
};

int smallest_exponent(NarrowFormat format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  return 1 - bias - (format.digits - 1);
}

Exact read(NarrowFormat format, std::uint16_t number) {
  const int places = format.digits - 1;
  const int field = (number & 0x7FFF) >> places;
  const auto stored = static_cast<std::uint64_t>(number & ((1 << places) - 1));
  const std::uint64_t leading = field == 0 ? 0 : std::uint64_t{1} << places;
  return {(number & 0x8000) != 0, leading | stored,
          smallest_exponent(format) + std::max(field - 1, 0)};
}

std::uint16_t round(NarrowFormat format, const Exact& value) {
  const std::uint64_t sign = value.is_negative ? 0x8000 : 0;
  const int places = format.digits - 1;
  const int smallest = smallest_exponent(format);
  int exponent = std::max(value.top() - format.digits, smallest);
  const int lost = exponent - value.exponent;
  std::uint64_t kept = 0;
  if (lost <= 0) {
    kept = value.magnitude << -lost;
  } else if (lost <= 63) {
    kept = value.magnitude >> lost;
    const std::uint64_t rest = value.magnitude & ((std::uint64_t{1} << lost) - 1);
    const std::uint64_t half = std::uint64_t{1} << (lost - 1);
    if (rest > half || (rest == half && kept % 2 == 1)) ++kept;
  }
  if (kept >> format.digits != 0) {
    kept >>= 1;
    ++exponent;
  }
  std::uint64_t field = 0;
  if (kept >> places != 0) {
    field = static_cast<std::uint64_t>(exponent - smallest + 1);
    kept -= std::uint64_t{1} << places;
  }
  const std::uint64_t largest = (std::uint64_t{1} << format.exponent_bits) - 1;
  if (field >= largest) return static_cast<std::uint16_t>(sign | largest << places);
  return static_cast<std::uint16_t>(sign | field << places | kept);
}

/// The terms have at most 22 digits. Of one that begins 14 or more places below the last digit of
/// the other only the sign influences the rounding.
Exact add(Exact a, Exact b) {
  constexpr int far = 36;
  if (a.magnitude == 0 && b.magnitude == 0) return {a.is_negative && b.is_negative, 0, 0};
  if (a.magnitude == 0) return b;
  if (b.magnitude == 0) return a;
  if (a.exponent < b.exponent) std::swap(a, b);
  if (a.exponent - b.exponent > far) {
    b.magnitude = 1;
    b.exponent = a.exponent - far;
  }
  a.magnitude <<= a.exponent - b.exponent;
  a.exponent = b.exponent;
  if (a.is_negative == b.is_negative) return {a.is_negative, a.magnitude + b.magnitude, b.exponent};
  if (a.magnitude == b.magnitude) return {false, 0, 0};
  if (a.magnitude < b.magnitude) std::swap(a, b);
  return {a.is_negative, a.magnitude - b.magnitude, b.exponent};
}

}  // namespace

std::uint16_t fused_multiply_add(NarrowFormat format, std::uint16_t x, std::uint16_t a,
                                 std::uint16_t b) {
  const Exact left = read(format, x);
  const Exact right = read(format, a);
  const Exact product{left.is_negative != right.is_negative, left.magnitude * right.magnitude,
                      left.exponent + right.exponent};
  return round(format, add(product, read(format, b)));
}

}  // namespace hiptool::measure
