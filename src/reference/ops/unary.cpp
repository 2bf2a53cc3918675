// SPDX-License-Identifier: MIT
#include "reference/ops/unary.hpp"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace hiptool::reference {
namespace {

constexpr long double sqrt_half = 0.707106781186547524400844362104849039L;

/// A value and whether results may differ from it a little.
struct UnaryValue {
  long double value;
  bool is_near;
};
UnaryValue exactly(long double value) { return {value, false}; }
UnaryValue nearly(long double value) { return {value, true}; }

long double sigmoid_of(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

/// erfc changes by about u^2 times a rounding error of u = -x sqrt(1/2), which is taken off again.
long double normal_of(long double x) {
  const long double u = -x * sqrt_half;
  if (!(std::fabs(u) < 100)) return std::erfc(u) / 2;
  const long double lost =
      -std::fma(x, sqrt_half, u) - x * (0.707106781186547524400844362104849039L - sqrt_half);
  const long double slope = 1.12837916709551257389615890312154517L * std::exp(-u * u);
  return (std::erfc(u) - slope * lost) / 2;
}

/// x times a factor that falls to 0 faster than x grows.
long double times_share(long double x, long double share) {
  return std::isinf(x) && share == 0 ? -0.0L : x * share;
}

long double gelu_by_tanh(long double x) {
  constexpr long double two_sqrt_2_over_pi = 1.59576912160573071175978423973652747L;
  return times_share(x, sigmoid_of(two_sqrt_2_over_pi * (x + 0.044715L * x * x * x)));
}

/// x is the element as float or double, in which operations that are rounded correctly compute, and
/// w the same with more digits.
template <class Real>
UnaryValue unary_value(ops::Unary operation, Real x, long double w) {
  switch (operation) {
    case ops::Unary::neg: return exactly(-x);
    case ops::Unary::abs: return exactly(std::fabs(x));
    case ops::Unary::sqr: return exactly(x * x);
    case ops::Unary::relu: return exactly(std::isnan(x) ? x : x > 0 ? x : 0);
    case ops::Unary::sign: return exactly((x > 0 ? 1 : 0) - (x < 0 ? 1 : 0));
    case ops::Unary::floor: return exactly(std::floor(x));
    case ops::Unary::ceil: return exactly(std::ceil(x));
    case ops::Unary::round: return exactly(std::round(x));
    case ops::Unary::recip: return exactly(1 / x);
    case ops::Unary::sqrt: return exactly(std::sqrt(x));
    case ops::Unary::rsqrt: return exactly(1 / std::sqrt(x));
    case ops::Unary::exp: return nearly(std::exp(w));
    case ops::Unary::log: return nearly(std::log(w));
    case ops::Unary::sin: return nearly(std::sin(w));
    case ops::Unary::cos: return nearly(std::cos(w));
    case ops::Unary::tanh: return nearly(std::tanh(w));
    case ops::Unary::erf: return nearly(std::erf(w));
    case ops::Unary::normcdf: return nearly(normal_of(w));
    case ops::Unary::sigmoid: return nearly(sigmoid_of(w));
    case ops::Unary::silu: return nearly(times_share(w, sigmoid_of(w)));
    case ops::Unary::gelu: return nearly(gelu_by_tanh(w));
    case ops::Unary::gelu_erf: return nearly(times_share(w, normal_of(w)));
  }
  return exactly(0);
}

template <class Function>
Expected judged(DType dtype, const Values& x, Function function) {
  Expected expected;
  expected.values.dims = x.dims;
  expected.values.at.reserve(x.at.size());
  std::vector<long double> slack;
  bool is_near = false;
  // f32's 2 units are at most 2^-12 of a unit of 11 bits.
  const long double units = dtype == DType::f32 || dtype == DType::f64 ? 2 : 0.501L;
  for (const long double number : x.at) {
    const UnaryValue one = function(number);
    expected.values.at.push_back(one.value);
    slack.push_back(one.is_near ? units * ulp_of(dtype, one.value) : 0);
    is_near = is_near || one.is_near;
  }
  if (is_near) expected.slack = std::move(slack);  // with slack, zeros of both signs are right
  return expected;
}

template <class Whole>
long double truncated(long double number) {
  constexpr auto least = static_cast<long double>(std::numeric_limits<Whole>::min());
  constexpr auto most = static_cast<long double>(std::numeric_limits<Whole>::max());
  if (std::isnan(number)) return 0;
  return std::fmin(std::fmax(std::trunc(number), least), most);
}

template <class Whole>
long double wrapped_to(std::uint64_t bits) {
  return static_cast<long double>(static_cast<Whole>(bits));
}

/// Calls function(Whole()) with the C++ type of an integer dtype.
template <class Function>
long double with_whole_type(DType dtype, Function function) {
  switch (dtype) {
    case DType::u8: return function(std::uint8_t());
    case DType::u32: return function(std::uint32_t());
    case DType::i16: return function(std::int16_t());
    case DType::i32: return function(std::int32_t());
    default: return function(std::int64_t());
  }
}

std::uint64_t bits_of_number(long double whole) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
}

long double cast_value(DType from, DType to, long double number) {
  if (is_floating_point(to)) return number;
  return with_whole_type(to, [&](auto whole) {
    using Whole = decltype(whole);
    return is_floating_point(from) ? truncated<Whole>(number)
                                   : wrapped_to<Whole>(bits_of_number(number));
  });
}

/// As the tensor's type has it.
long double parameter_in(DType dtype, const ops::Scalar& number) {
  const DType from = number.is_whole() ? DType::i64 : DType::f64;
  const long double value =
      number.is_whole() ? static_cast<long double>(number.whole()) : number.real();
  const Values rounded{{}, {cast_value(from, dtype, value)}};
  return values_of(dtype, bytes_of(dtype, rounded), {}).at[0];
}

template <class Real>
long double rounded_affine(long double x, long double factor, long double addend) {
  const Real product = static_cast<Real>(x) * static_cast<Real>(factor);
  return product + static_cast<Real>(addend);
}

long double affine_value(DType dtype, long double x, long double factor, long double addend) {
  if (dtype == DType::f64) return rounded_affine<double>(x, factor, addend);
  if (is_floating_point(dtype)) return rounded_affine<float>(x, factor, addend);
  const std::uint64_t bits = bits_of_number(x) * bits_of_number(factor) + bits_of_number(addend);
  return with_whole_type(dtype, [&](auto whole) { return wrapped_to<decltype(whole)>(bits); });
}

}  // namespace

Expected unary(ops::Unary operation, DType dtype, const Values& x) {
  return judged(dtype, x, [&](long double number) {
    return dtype == DType::f64 ? unary_value(operation, static_cast<double>(number), number)
                               : unary_value(operation, static_cast<float>(number), number);
  });
}

Expected powf(DType dtype, const Values& x, double exponent) {
  const long double e = parameter_in(dtype, exponent);
  return judged(dtype, x, [&](long double number) { return nearly(std::pow(number, e)); });
}

Expected elu(DType dtype, const Values& x, double alpha) {
  const long double a = parameter_in(dtype, alpha);
  return judged(dtype, x, [&](long double number) {
    return number > 0 ? exactly(number) : nearly(a * std::expm1(number));
  });
}

Expected affine(DType dtype, const Values& x, const ops::Scalar& factor,
                const ops::Scalar& addend) {
  Expected expected{x, {}};
  const long double a = parameter_in(dtype, factor);
  const long double b = parameter_in(dtype, addend);
  for (long double& number : expected.values.at) number = affine_value(dtype, number, a, b);
  return expected;
}

Expected row_bias(DType dtype, const Values& x, const Values& bias) {
  Expected expected{x, {}};
  for (std::size_t i = 0; i < x.at.size(); ++i) {
    const long double addend = bias.at[i % bias.at.size()];
    expected.values.at[i] = affine_value(dtype, x.at[i], 1, addend);
  }
  return expected;
}

Expected where_cond(const Values& condition, const Values& on_true, const Values& on_false) {
  Expected expected{on_false, {}};
  for (std::size_t i = 0; i < condition.at.size(); ++i) {
    if (condition.at[i] != 0) expected.values.at[i] = on_true.at[i];
  }
  return expected;
}

Expected cast(DType from, DType to, const Values& x) {
  Expected expected{x, {}};
  for (long double& number : expected.values.at) number = cast_value(from, to, number);
  return expected;
}

Expected fill(DType dtype, const Values& like, const ops::Scalar& value) {
  Expected expected{like, {}};
  const long double element = parameter_in(dtype, value);
  for (long double& number : expected.values.at) number = element;
  return expected;
}

}  // namespace hiptool::reference
