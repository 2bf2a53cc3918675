// SPDX-License-Identifier: MIT
#include "reference/ops/elementwise.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace hiptool::reference {
namespace {

/// Integers by the rules of C++ for numbers without a sign, modulo 2^bits.
template <class Whole>
long double wrapped(ops::Binary operation, long double left, long double right) {
  using Unsigned = std::make_unsigned_t<Whole>;
  const auto x = static_cast<Whole>(left);
  const auto y = static_cast<Whole>(right);
  const auto ux = static_cast<std::uint64_t>(x);
  const auto uy = static_cast<std::uint64_t>(y);
  const auto back = [](std::uint64_t bits) {
    return static_cast<long double>(static_cast<Whole>(static_cast<Unsigned>(bits)));
  };
  switch (operation) {
    case ops::Binary::add: return back(ux + uy);
    case ops::Binary::sub: return back(ux - uy);
    case ops::Binary::mul: return back(ux * uy);
    case ops::Binary::div:
      if (y == 0) return std::is_signed_v<Whole> ? 0 : std::numeric_limits<Whole>::max();
      return back(static_cast<std::uint64_t>(
          std::is_signed_v<Whole> && y == Whole(-1) ? 0 - ux : static_cast<std::uint64_t>(x / y)));
    case ops::Binary::minimum: return std::fmin(left, right);
    case ops::Binary::maximum: return std::fmax(left, right);
  }
  return 0;
}

/// As f32 or f64 rounds; the type itself rounds once more where it is smaller.
template <class Real>
long double computed(ops::Binary operation, long double left, long double right) {
  const auto x = static_cast<Real>(left);
  const auto y = static_cast<Real>(right);
  switch (operation) {
    case ops::Binary::add: return x + y;
    case ops::Binary::sub: return x - y;
    case ops::Binary::mul: return x * y;
    case ops::Binary::div: return x / y;
    case ops::Binary::minimum:
    case ops::Binary::maximum: {
      if (std::isnan(left) || std::isnan(right)) return std::numeric_limits<Real>::quiet_NaN();
      const bool left_is_less = left < right || (left == right && std::signbit(left));
      return (operation == ops::Binary::minimum) == left_is_less ? left : right;
    }
  }
  return 0;
}

long double binary_value(ops::Binary operation, DType dtype, long double x, long double y) {
  switch (dtype) {
    case DType::u8: return wrapped<std::uint8_t>(operation, x, y);
    case DType::u32: return wrapped<std::uint32_t>(operation, x, y);
    case DType::i16: return wrapped<std::int16_t>(operation, x, y);
    case DType::i32: return wrapped<std::int32_t>(operation, x, y);
    case DType::i64: return wrapped<std::int64_t>(operation, x, y);
    case DType::f64: return computed<double>(operation, x, y);
    default: return computed<float>(operation, x, y);
  }
}

bool compare_value(ops::Compare operation, long double x, long double y) {
  switch (operation) {
    case ops::Compare::eq: return x == y;
    case ops::Compare::ne: return x != y;
    case ops::Compare::lt: return x < y;
    case ops::Compare::le: return x <= y;
    case ops::Compare::gt: return x > y;
    case ops::Compare::ge: return x >= y;
  }
  return false;
}

}  // namespace

Expected binary(ops::Binary operation, DType dtype, const Values& a, const Values& b) {
  Expected expected;
  expected.values.dims = a.dims;
  for (std::size_t i = 0; i < a.at.size(); ++i) {
    expected.values.at.push_back(binary_value(operation, dtype, a.at[i], b.at[i]));
  }
  return expected;
}

Expected compare(ops::Compare operation, const Values& a, const Values& b) {
  Expected expected;
  expected.values.dims = a.dims;
  for (std::size_t i = 0; i < a.at.size(); ++i) {
    expected.values.at.push_back(compare_value(operation, a.at[i], b.at[i]) ? 1 : 0);
  }
  return expected;
}

}  // namespace hiptool::reference
