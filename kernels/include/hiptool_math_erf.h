// SPDX-License-Identifier: MIT
// The error function, the normal distribution and what is made of them; a part of hiptool_math.h.
#pragma once
#include "hiptool_math.h"

namespace hiptool_math {

// erf(x) / x - 1 over v = x^2, |x| <= 1; errors 2^-30 and 2^-56 of erf(x).
inline __device__ float erf_terms(float v) {
  return horner(v, 0.12837917F, -0.37612635F, 0.11283744F, -0.026863622F, 0.005216654F,
                -0.0008427302F, 0.00010890578F, -8.673376e-06F);
}
inline __device__ double erf_terms(double v) {
  return horner(v, 0.1283791670955126, -0.376126389031839, 0.11283791670960246,
                -0.02686617064597305, 0.005223977633263234, -0.0008548327477600838,
                0.00012055350454289718, -1.4926110753856773e-05, 1.647054854007595e-06,
                -1.6473127140114368e-07, 1.5735764182245697e-08, -1.7497020244007168e-09,
                2.637226422718611e-10, -3.024773847810671e-11);
}

// (1 + 2 u) e^(u^2) erfc(u) - 1.125 over t = (u - k) / (u + k), k = 2.5 and 4: nearly constant
// (M. M. Shepherd, J. G. Laframboise, Mathematics of Computation 36, 1981); errors 2^-27 for u from
// 0.68 to 11, 2^-57 for u from 0.68 to 28.
inline __device__ float erfc_terms(float u) {
  return horner((u - 2.5F) / (u + 2.5F), 0.13983819F, -0.12235679F, -0.09902464F, 0.15763104F,
                -0.10296738F, 0.032746684F, 0.0009440523F, -0.0043106694F, 0.00043205213F,
                0.00048167407F);
}
inline __device__ double erfc_terms(double u) {
  return horner((u - 4.0) / (u + 4.0), 0.10799511862555251, -0.13962111684056247,
                0.0153796521026191, 0.06809705425468628, -0.10103906603627133, 0.09373283499862987,
                -0.06633036581302025, 0.037167515531853816, -0.01619773404682825,
                0.005031970040244169, -0.0007577733807509225, -0.00019925711083586484,
                0.00015062217576854931, -2.439744857750611e-05, -1.1223817180905779e-05,
                5.704888688658962e-06, 2.9798879403815926e-07, -8.169177717122335e-07,
                6.850438329269725e-08, 1.0092364904401114e-07, -1.2814454076814522e-08,
                -8.753921164242363e-09);
}

/// Where erfc is below half the least number.
inline __device__ float erfc_end(float) { return 11.0F; }
inline __device__ double erfc_end(double) { return 28.0; }

/// erfc(u) for u from 0 to erfc_end; small u by erf(u). Takes u^2 as well, whose rounding would
/// count u^2 times.
template <class T>
inline __device__ Scaled<T> split_erfc(Pair<T> u, Pair<T> square) {
  const Pair<T> near = ordered_sum(T(1), -u.high);
  // 1.125 is about the slope of erf, which is enough for the second part.
  const T near_rest = near.low - fused(u.high, erf_terms(square.high), T(1.125) * u.low);

  const Exponential<T> e = split_exponential<T>({-square.high, -square.low});
  const T below = fused(T(2), u.high, T(1));
  const T below_rest = fused(T(2), u.high, T(1) - below) + T(2) * u.low;
  const Pair<T> curve = ordered_sum(T(1.125), erfc_terms(u.high));
  const Pair<T> share = product(curve, reciprocal<T>({below, below_rest}));
  const T rest = fused(share.high, e.rest, share.low + share.low * e.near);
  const T far_rest = fused(share.high, e.near, rest);

  const bool is_near = u.high < T(0.6875);
  return {ordered_sum(is_near ? near.high : share.high, is_near ? near_rest : far_rest),
          is_near ? 0 : e.exponent};
}

template <class T>
inline __device__ Scaled<T> split_erfc(T u) {
  const T square = u * u;
  return split_erfc<T>({u, T(0)}, {square, fused(u, u, -square)});
}

template <class T>
inline __device__ T complementary_error_function(T x) {
  const T size = absolute(x);
  const Scaled<T> s = split_erfc(at_most(size, erfc_end(x)));
  const T tail = scaled(s.value.high + s.value.low, s.exponent);
  return x < T(0) ? T(2) - tail : tail;
}

template <class T>
inline __device__ T error_function(T x) {
  const T size = absolute(x);
  const Scaled<T> s = split_erfc(at_most(size, erfc_end(x)));
  const T far = T(1) - scaled(s.value.high + s.value.low, s.exponent);
  const T near = fused(size, erf_terms(size * size), size);
  return with_sign_of(x, size < T(1) ? near : far);
}

inline __device__ Pair<float> sqrt_half(float) { return {0.70710677F, 1.21016175e-08F}; }
inline __device__ Pair<double> sqrt_half(double) {
  return {0.7071067811865476, -4.833646656726457e-17};
}

/// Where the normal distribution is 0 or 1.
template <class T>
inline __device__ T normal_end() {
  return T(1.4375) * erfc_end(T(0));
}

/// The normal distribution at -|x|: half of erfc(|x| / sqrt(2)).
template <class T>
inline __device__ Scaled<T> normal_tail(T x) {
  const T size = absolute(x);
  const T inside = at_most(size, normal_end<T>());
  const T square = inside * inside;
  Scaled<T> tail = split_erfc<T>(product<T>({inside, T(0)}, sqrt_half(x)),
                                 {T(0.5) * square, T(0.5) * fused(inside, inside, -square)});
  --tail.exponent;
  return tail;
}

/// The share of the standard normal distribution below x.
template <class T>
inline __device__ T normal_distribution(T x) {
  const Scaled<T> s = normal_tail(x);
  const T tail = scaled(s.value.high + s.value.low, s.exponent);
  return x > T(0) ? T(1) - tail : tail;
}

/// x normal_distribution(x).
template <class T>
inline __device__ T gelu(T x) {
  Scaled<T> s = normal_tail(x);
  if (x > T(0)) {
    const T scale = power_of_two<T>(s.exponent < -100 ? -100 : s.exponent);
    s.value = sum<T>({T(1), T(0)}, {-s.value.high * scale, -s.value.low * scale});
    s.exponent = 0;
  }
  return times_scaled(x, s, -normal_end<T>());
}

struct GeluTanh {
  // 2 sqrt(2 / pi), and 0.044715 times that.
  static inline __device__ Pair<float> linear(float) { return {1.5957692F, -4.534068e-08F}; }
  static inline __device__ Pair<double> linear(double) {
    return {1.5957691216057308, -9.96930880911092e-17};
  }
  static inline __device__ Pair<float> cubic(float) { return {0.071354814F, 2.3988325e-09F}; }
  static inline __device__ Pair<double> cubic(double) {
    return {0.07135481627260025, -6.175149918155315e-19};
  }
  // Beyond, the result is 0 or x.
  static inline __device__ float end(float) { return 12.0F; }
  static inline __device__ double end(double) { return 24.0; }
};

/// x (1 + tanh(u)) / 2 = x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
template <class T>
inline __device__ T gelu_tanh(T x) {
  const T end = GeluTanh::end(x);
  const Pair<T> inside = {clamped(x, -end, end), T(0)};
  const Pair<T> cubic = product(product(inside, inside), GeluTanh::cubic(x));
  const Pair<T> factor = exact_sum(GeluTanh::linear(x).high, cubic.high);
  const Pair<T> slope = {factor.high, factor.low + (GeluTanh::linear(x).low + cubic.low)};
  return times_scaled(x, split_sigmoid(product(inside, slope)), -end);
}

}  // namespace hiptool_math
