// SPDX-License-Identifier: MIT
// Elementary functions for float and double with the same bits on every platform: they consist of
// correctly rounded operations (+ - * / fma), integer operations and casts of bits, so compilers
// must neither contract nor relax them. The error is below 1.2 units in the last place everywhere
// (tests/unit/kernel_store/math_test.cpp); special values follow C99, Annex F. Polynomials are from
// kernels/math_coefficients.sollya.
//
// Here: exponential, exponential_minus_one, hyperbolic_tangent, sigmoid, silu, logarithm, power.
// hiptool_math_trig.h: sine, cosine. hiptool_math_erf.h: error_function,
// complementary_error_function, normal_distribution, gelu, gelu_tanh.
#pragma once
#include <hip/hip_runtime.h>

namespace hiptool_math {

template <class T>
struct Format;

template <>
struct Format<float> {
  typedef uint32_t Bits;
  typedef int SignedBits;
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  static constexpr float rounder = 12582912.0F;  // 1.5 * 2^23: added, it leaves whole numbers
  static constexpr float log2_e = 1.442695F;
  static constexpr float ln2_cut = 0.69314575F;  // 15 bits: exact times an exponent
  static constexpr float ln2_cut_rest = 1.4286068e-06F;
  static constexpr float ln2 = 0.6931472F;
  static constexpr float ln2_rest = -1.9046542e-09F;
  static constexpr Bits sqrt_half = 0x3f3504f3;
  static constexpr float exp_underflow = -104.0F;  // e^x is below half the least number
  static constexpr float exp_overflow = 89.0F;
  static constexpr float exp_minus_one_end = -20.0F;  // e^x - 1 is -1 from here on
  static constexpr float tanh_end = 10.0F;
  static constexpr float sigmoid_end = 120.0F;
  static constexpr float exp2_underflow = -152.0F;
  static constexpr float exp2_overflow = 129.0F;
};

template <>
struct Format<double> {
  typedef uint64_t Bits;
  typedef long long SignedBits;
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double log2_e = 1.4426950408889634;
  static constexpr double ln2_cut = 0.6931471805601177;  // 40 bits
  static constexpr double ln2_cut_rest = -1.7239444525614835e-13;
  static constexpr double ln2 = 0.6931471805599453;
  static constexpr double ln2_rest = 2.3190468138462996e-17;
  static constexpr Bits sqrt_half = 0x3fe6a09e667f3bcd;
  static constexpr double exp_underflow = -746.0;
  static constexpr double exp_overflow = 710.0;
  static constexpr double exp_minus_one_end = -40.0;
  static constexpr double tanh_end = 22.0;
  static constexpr double sigmoid_end = 800.0;
  static constexpr double exp2_underflow = -1077.0;
  static constexpr double exp2_overflow = 1025.0;
};

inline __device__ uint32_t bits_of(float x) { return __float_as_uint(x); }
inline __device__ uint64_t bits_of(double x) {
  return static_cast<uint64_t>(__double_as_longlong(x));
}
inline __device__ float from_bits(uint32_t bits) { return __uint_as_float(bits); }
inline __device__ double from_bits(uint64_t bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
inline __device__ float fused(float x, float y, float z) { return __fmaf_rn(x, y, z); }
inline __device__ double fused(double x, double y, double z) { return __fma_rn(x, y, z); }

template <class T>
inline __device__ typename Format<T>::Bits sign_mask() {
  return static_cast<typename Format<T>::Bits>(1) << (sizeof(T) * 8 - 1);
}

template <class T>
inline __device__ T absolute(T x) {
  return from_bits(bits_of(x) & ~sign_mask<T>());
}

template <class T>
inline __device__ T with_sign_of(T sign, T size) {
  return from_bits(bits_of(absolute(size)) | (bits_of(sign) & sign_mask<T>()));
}

template <class T>
inline __device__ T infinity() {
  typedef typename Format<T>::Bits Bits;
  return from_bits(static_cast<Bits>(2 * Format<T>::bias + 1) << Format<T>::mantissa_bits);
}

template <class T>
inline __device__ T not_a_number() {
  typedef typename Format<T>::Bits Bits;
  return from_bits(static_cast<Bits>(4 * Format<T>::bias + 3) << (Format<T>::mantissa_bits - 1));
}

/// 2^n where that is a normal number.
template <class T>
inline __device__ T power_of_two(int n) {
  typedef typename Format<T>::Bits Bits;
  return from_bits(static_cast<Bits>(n + Format<T>::bias) << Format<T>::mantissa_bits);
}

/// x 2^n for x near 1, rounded once; n may be twice as far from 0 as exponents reach.
template <class T>
inline __device__ T scaled(T x, int n) {
  const int half = n >> 1;
  return x * power_of_two<T>(half) * power_of_two<T>(n - half);
}

/// The whole number nearest to shifted - rounder, as an integer.
template <class T>
inline __device__ int integer_part(T shifted) {
  return static_cast<int>(bits_of(shifted) - bits_of(Format<T>::rounder));
}

template <class T>
inline __device__ T horner(T, T last) {
  return last;
}

/// first + x (second + x (...)).
template <class T, class... Rest>
inline __device__ T horner(T x, T first, Rest... rest) {
  return fused(x, horner(x, rest...), first);
}

/// A number in two parts, the second within about the rounding error of the first (T. J. Dekker,
/// Numerische Mathematik 18, 1971).
template <class T>
struct Pair {
  T high;
  T low;
};

/// Exact for |a| >= |b| or a = 0.
template <class T>
inline __device__ Pair<T> ordered_sum(T a, T b) {
  const T sum = a + b;
  return {sum, (a - sum) + b};
}

/// Exact for all a and b (D. E. Knuth).
template <class T>
inline __device__ Pair<T> exact_sum(T a, T b) {
  const T sum = a + b;
  const T of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

template <class T>
inline __device__ Pair<T> product(Pair<T> a, Pair<T> b) {
  const T high = a.high * b.high;
  const T lost = fused(a.high, b.high, -high);
  return {high, fused(a.high, b.low, fused(a.low, b.high, lost))};
}

/// For |a| >= |b|.
template <class T>
inline __device__ Pair<T> sum(Pair<T> a, Pair<T> b) {
  const Pair<T> high = ordered_sum(a.high, b.high);
  return {high.high, high.low + (a.low + b.low)};
}

/// 1 / a.
template <class T>
inline __device__ Pair<T> reciprocal(Pair<T> a) {
  const T inverse = T(1) / a.high;
  const T rest = fused(-inverse, a.high, T(1)) - inverse * a.low;
  return {inverse, inverse * rest};
}

// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2; errors 2^-28 and 2^-57 of e^r.
inline __device__ float exp_terms(float r) {
  return horner(r, 0.49999994F, 0.1666652F, 0.041668236F, 0.008368824F, 0.0013823552F);
}
inline __device__ double exp_terms(double r) {
  return horner(r, 0.5000000000000011, 0.1666666666666642, 0.041666666666526686,
                0.008333333333490232, 0.0013888888944473428, 0.00019841269516385736,
                2.4801492265489312e-05, 2.755757700396035e-06, 2.7630537163848767e-07,
                2.5003225322679648e-08);
}

/// e^x = 2^exponent (1 + near + rest), |near| < 0.36, |rest| < 0.07.
template <class T>
struct Exponential {
  T near;
  T rest;
  int exponent;
};

/// For |x| below 2^10; NaN stays.
template <class T>
inline __device__ Exponential<T> split_exponential(Pair<T> x) {
  typedef Format<T> F;
  const T shifted = fused(x.high, F::log2_e, F::rounder);
  const T n = shifted - F::rounder;
  const T reduced = fused(n, -F::ln2_cut, x.high);  // exact
  const Pair<T> r = ordered_sum(reduced, fused(n, -F::ln2_cut_rest, x.low));
  return {r.high, fused(r.high * r.high, exp_terms(r.high), r.low), integer_part(shifted)};
}

/// NaN stays, here and below.
template <class T>
inline __device__ T at_most(T x, T end) {
  return x > end ? end : x;
}

template <class T>
inline __device__ T clamped(T x, T low, T high) {
  return x < low ? low : at_most(x, high);
}

template <class T>
inline __device__ T exponential(T x) {
  const T inside = clamped(x, Format<T>::exp_underflow, Format<T>::exp_overflow);
  const Exponential<T> e = split_exponential<T>({inside, T(0)});
  return scaled(T(1) + (e.near + e.rest), e.exponent);
}

/// (e^x - 1) / 2, the second part below a fifth of the first, for x from -40 to exp_overflow.
template <class T>
inline __device__ Pair<T> half_exponential_minus_one(T x) {
  const Exponential<T> e = split_exponential<T>({x, T(0)});
  const T scale = power_of_two<T>(e.exponent - 1);
  const Pair<T> first = ordered_sum(scale, T(-0.5));
  const Pair<T> second = ordered_sum(first.high, scale * e.near);
  return {second.high, fused(scale, e.rest, second.low + first.low)};
}

template <class T>
inline __device__ T exponential_minus_one(T x) {
  const T inside = clamped(x, Format<T>::exp_minus_one_end, Format<T>::exp_overflow);
  const Pair<T> half = half_exponential_minus_one(inside);
  // Halves of subnormal numbers would lose a bit.
  const bool is_tiny = absolute(x) < power_of_two<T>(-Format<T>::mantissa_bits - 2);
  return is_tiny ? x : T(2) * (half.high + half.low);
}

/// tanh x = h / (h + 1) with h = (e^(2x) - 1) / 2.
template <class T>
inline __device__ T hyperbolic_tangent(T x) {
  const Pair<T> parts =
      half_exponential_minus_one(T(2) * (at_most(absolute(x), Format<T>::tanh_end)));
  const Pair<T> h = ordered_sum(parts.high, parts.low);
  Pair<T> below = exact_sum(h.high, T(1));
  below.low += h.low;
  const T inverse = T(1) / below.high;
  const T quotient = h.high * inverse;
  const T rest = (fused(-quotient, below.high, h.high) + h.low) - quotient * below.low;
  const T result = fused(rest, inverse, quotient);
  return with_sign_of(x, result);
}

/// (high + low) 2^exponent.
template <class T>
struct Scaled {
  Pair<T> value;
  int exponent;
};

/// 1 / (1 + e^-x) for |x| below 2^10.
template <class T>
inline __device__ Scaled<T> split_sigmoid(Pair<T> x) {
  const bool is_negative = x.high < T(0);
  const Pair<T> away = {is_negative ? x.high : -x.high, is_negative ? x.low : -x.low};
  const Exponential<T> e = split_exponential(away);
  const Pair<T> mantissa = sum<T>({T(1), T(0)}, ordered_sum(e.near, e.rest));
  // Far out e^-|x| changes nothing in 1 + e^-|x|, so its exponent may stop where it is normal.
  const T scale = power_of_two<T>(e.exponent < -100 ? -100 : e.exponent);
  const Pair<T> below = sum<T>({T(1), T(0)}, {mantissa.high * scale, mantissa.low * scale});
  const Pair<T> inverse = reciprocal(below);
  if (!is_negative) return {inverse, 0};
  return {product(mantissa, inverse), e.exponent};
}

template <class T>
inline __device__ T sigmoid(T x) {
  const T inside = clamped(x, -Format<T>::sigmoid_end, Format<T>::sigmoid_end);
  const Scaled<T> s = split_sigmoid<T>({inside, T(0)});
  return scaled(s.value.high + s.value.low, s.exponent);
}

/// x times a value that falls to 0 for x below `end`: -0 from there on, the limit at -inf too.
template <class T>
inline __device__ T times_scaled(T x, Scaled<T> s, T end) {
  const T factor = x < end ? end : x;
  const T high = factor * s.value.high;
  const T low = fused(factor, s.value.high, -high) + factor * s.value.low;
  const T value = absolute(x) < infinity<T>() ? high + low : high;
  return scaled(with_sign_of(x, value), s.exponent);  // of +0 and -0 the sum is +0
}

/// x sigmoid(x).
template <class T>
inline __device__ T silu(T x) {
  const T inside = clamped(x, -Format<T>::sigmoid_end, Format<T>::sigmoid_end);
  return times_scaled(x, split_sigmoid<T>({inside, T(0)}), -Format<T>::sigmoid_end);
}

/// x = 2^exponent mantissa for positive x, mantissa from sqrt(1/2) to sqrt(2).
template <class T>
struct Logarithm {
  T mantissa;
  int exponent;
};

template <class T>
inline __device__ Logarithm<T> split_logarithm(T x) {
  typedef Format<T> F;
  typedef typename F::Bits Bits;
  constexpr int up = F::mantissa_bits + 1;
  const bool is_subnormal = x < power_of_two<T>(1 - F::bias);
  const T normal = is_subnormal ? x * power_of_two<T>(up) : x;
  const Bits offset = bits_of(normal) - F::sqrt_half;
  const Bits mask = (static_cast<Bits>(1) << F::mantissa_bits) - 1;
  const int exponent =
      static_cast<int>(static_cast<typename F::SignedBits>(offset) >> F::mantissa_bits);
  return {from_bits((offset & mask) + F::sqrt_half), is_subnormal ? exponent - up : exponent};
}

// (2 atanh(s) - 2 s) / s^3 over v = s^2, |s| <= 0.1716; errors 2^-30 and 2^-59 of 2 atanh(s).
inline __device__ float log_terms(float v) { return horner(v, 0.66666776F, 0.3997756F, 0.298719F); }
inline __device__ double log_terms(double v) {
  return horner(v, 0.6666666666666735, 0.3999999999940916, 0.2857142874377333, 0.22222198415701797,
                0.1818357326377135, 0.15313803527247324, 0.14798597115444004);
}

/// With f = m - 1 and s = f / (2 + f): log m = 2 atanh(s) = 2 s + s^3 P = f - s (f - s^2 P).
template <class T>
inline __device__ T logarithm(T x) {
  typedef Format<T> F;
  const Logarithm<T> parts = split_logarithm(x);
  const T n = static_cast<T>(parts.exponent);
  const T f = parts.mantissa - T(1);
  const T s = f / (T(2) + f);
  const T v = s * s;
  const T curve = s * fused(-v, log_terms(v), f);
  const Pair<T> sum = ordered_sum(n * F::ln2_cut, f);
  const T result = sum.high + (sum.low + fused(n, F::ln2_cut_rest, -curve));
  const T at_edge = x == T(0) ? -infinity<T>() : x == infinity<T>() ? x : not_a_number<T>();
  return x > T(0) && x < infinity<T>() ? result : at_edge;
}

// (atanh(s) / s - 1 - s^2/3 - s^4/5) / s^6 over v = s^2; errors 2^-35 and 2^-72 of atanh(s) / s.
inline __device__ float atanh_terms(float v) { return horner(v, 0.14280228F, 0.11568905F); }
inline __device__ double atanh_terms(double v) {
  return horner(v, 0.14285714285716605, 0.11111111109995796, 0.09090909304410341,
                0.07692286311819213, 0.06667887560892105, 0.058423870344868095,
                0.05956687210217875);
}

struct Series {
  static inline __device__ Pair<float> fifth(float) { return {0.2F, -2.9802323e-09F}; }
  static inline __device__ Pair<double> fifth(double) { return {0.2, -1.1102230246251566e-17}; }
  static inline __device__ Pair<float> third(float) { return {0.33333334F, -9.934108e-09F}; }
  static inline __device__ Pair<double> third(double) {
    return {0.3333333333333333, 1.850371707708594e-17};
  }
  static inline __device__ Pair<float> two_log2_e(float) { return {2.88539F, 3.851926e-08F}; }
  static inline __device__ Pair<double> two_log2_e(double) {
    return {2.8853900817779268, 4.0710547481862066e-17};
  }
};

/// The logarithm to base 2 of a positive x, with about 10 bits more than T has.
template <class T>
inline __device__ Pair<T> exact_log2(T x) {
  const Logarithm<T> parts = split_logarithm(x);
  const T f = parts.mantissa - T(1);
  const Pair<T> below = ordered_sum(T(2), f);
  const T inverse = T(1) / below.high;
  const T s_high = f * inverse;
  const T s_rest = fused(-s_high, below.high, f) - s_high * below.low;
  const Pair<T> s = {s_high, s_rest * inverse};
  const Pair<T> v = product(s, s);
  Pair<T> series = sum<T>(Series::fifth(x), {v.high * atanh_terms(v.high), T(0)});
  series = sum(Series::third(x), product(v, series));
  series = sum<T>({T(1), T(0)}, product(v, series));
  const Pair<T> of_mantissa = product(product(s, series), Series::two_log2_e(x));
  return sum<T>({static_cast<T>(parts.exponent), T(0)}, of_mantissa);
}

/// 2^x, from the underflow to the overflow of T.
template <class T>
inline __device__ T exponential_2(Pair<T> x) {
  typedef Format<T> F;
  const T shifted = x.high + F::rounder;
  const T rest = x.high - (shifted - F::rounder);
  const T scaled_rest = rest * F::ln2;
  const T lost = fused(rest, F::ln2, -scaled_rest);
  const Pair<T> r = ordered_sum(scaled_rest, lost + fused(rest, F::ln2_rest, x.low * F::ln2));
  const T excess = r.high + fused(r.high * r.high, exp_terms(r.high), r.low);
  return scaled(T(1) + excess, integer_part(shifted));
}

template <class T>
struct Whole {
  bool is_whole;
  bool is_odd;
};

/// Of any y but NaN; infinity counts as even.
template <class T>
inline __device__ Whole<T> look_at_whole(T y) {
  typedef Format<T> F;
  typedef typename F::Bits Bits;
  const Bits bits = bits_of(absolute(y));
  const int fraction_bits = F::bias + F::mantissa_bits - static_cast<int>(bits >> F::mantissa_bits);
  if (fraction_bits <= 0) return {true, fraction_bits == 0 && (bits & 1) != 0};
  if (fraction_bits > F::mantissa_bits) return {bits == 0, false};
  const Bits one = static_cast<Bits>(1) << fraction_bits;
  const Bits mantissa = bits | static_cast<Bits>(1) << F::mantissa_bits;
  return {(mantissa & (one - 1)) == 0, (mantissa & (2 * one - 1)) == one};
}

template <class T>
inline __device__ T power(T x, T y) {
  typedef Format<T> F;
  const T size = absolute(x);
  const Pair<T> log2 = exact_log2(size);
  Pair<T> exponent;
  exponent.high = y * log2.high;
  exponent.low = fused(y, log2.high, -exponent.high) + y * log2.low;
  if (exponent.high < F::exp2_underflow) exponent = {F::exp2_underflow, T(0)};
  if (exponent.high > F::exp2_overflow) exponent = {F::exp2_overflow, T(0)};
  T result = exponential_2(exponent);

  const bool is_endless = size == infinity<T>() || absolute(y) == infinity<T>();
  const bool grows = (size > T(1)) == (y > T(0));
  if (size == T(0) || is_endless) result = grows ? infinity<T>() : T(0);
  const Whole<T> whole = look_at_whole(y);
  const bool is_negative = (bits_of(x) & sign_mask<T>()) != 0;
  if (is_negative && whole.is_odd) result = -result;
  if (is_negative && !whole.is_whole && size != T(0) && size != infinity<T>()) {
    result = not_a_number<T>();
  }
  if (x != x || y != y) result = not_a_number<T>();
  const bool is_one = y == T(0) || x == T(1) || (x == T(-1) && absolute(y) == infinity<T>());
  return is_one ? T(1) : result;
}

}  // namespace hiptool_math

#include "hiptool_math_erf.h"
#include "hiptool_math_trig.h"
