// SPDX-License-Identifier: MIT
// sine and cosine; a part of hiptool_math.h. Arguments are reduced by multiples of pi / 2: moderate
// ones by pi / 2 in three parts (W. J. Cody, W. Waite, Software Manual for the Elementary
// Functions, 1980), large ones by the bits of 2 / pi that count (M. Payne, R. Hanek, SIGNUM
// Newsletter 18, 1983).
#pragma once
#include "hiptool_math.h"

namespace hiptool_math {

/// x = quadrant pi / 2 + (angle.high + angle.low), |angle| <= pi / 4 and a little.
template <class T>
struct Reduced {
  Pair<T> angle;
  int quadrant;
};

struct HalfPi {
  static inline __device__ Pair<float> value(float) { return {1.5707964F, -4.371139e-08F}; }
  static inline __device__ Pair<double> value(double) {
    return {1.5707963267948966, 6.123233995736766e-17};
  }
  static inline __device__ float third_part(float) { return -1.7151245e-15F; }
  static inline __device__ double third_part(double) { return -1.4973849048591698e-33; }
  static inline __device__ float inverse(float) { return 0.63661975F; }
  static inline __device__ double inverse(double) { return 0.6366197723675814; }
  // Up to here n pi / 2 in three parts is exact enough, and n is the nearest whole number or
  // nearly.
  static inline __device__ float end(float) { return 131072.0F; }
  static inline __device__ double end(double) { return 268435456.0; }
};

template <class T>
inline __device__ Reduced<T> reduce_moderate(T x) {
  const T shifted = fused(x, HalfPi::inverse(x), Format<T>::rounder);
  const T n = shifted - Format<T>::rounder;
  const Pair<T> half_pi = HalfPi::value(x);
  const T first =
      fused(n, -half_pi.high, x);  // exact: a small multiple of the last place of pi / 2
  const T second = n * half_pi.low;
  const Pair<T> difference = exact_sum(first, -second);
  const T lost = fused(n, half_pi.low, -second);
  const T rest = fused(n, -HalfPi::third_part(x), difference.low - lost);
  return {ordered_sum(difference.high, rest), integer_part(shifted)};
}

/// Turns of a quarter in units of 2^-62 (64 bits that hold their sum modulo 4), and the 64 bits
/// after them.
template <class T>
inline __device__ Reduced<T> reduce_quarters(uint64_t high, uint64_t low) {
  const int quadrant = static_cast<int>((high + (1ULL << 61)) >> 62);
  high -= static_cast<uint64_t>(quadrant) << 62;
  const bool is_negative = high >> 63 != 0;
  if (is_negative) {
    low = ~low + 1;
    high = ~high + (low == 0 ? 1 : 0);
  }
  const T top = static_cast<T>(static_cast<long long>(high));
  const T rest = static_cast<T>(static_cast<long long>(high) - static_cast<long long>(top));
  const T below = static_cast<T>(static_cast<long long>(low >> 1));
  const T unit = power_of_two<T>(-62);
  Pair<T> quarters = ordered_sum(top * unit, (rest + below * power_of_two<T>(-63)) * unit);
  quarters = product(quarters, HalfPi::value(T(0)));
  if (is_negative) quarters = {-quarters.high, -quarters.low};
  return {ordered_sum(quarters.high, quarters.low), quadrant};
}

/// Successive words of 2 / pi.
struct Words {
  uint64_t first, second, third, fourth;
};

// Chosen one by one: an array would take memory of each thread with nvcc.
inline __device__ Words words_from(int, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  return {a, b, c, d};
}

/// Four of these words from the index on.
template <class... Rest>
inline __device__ Words words_from(int index, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                   uint64_t e, Rest... rest) {
  const Words next = words_from(index - 1, b, c, d, e, rest...);
  const bool is_here = index == 0;
  return {is_here ? a : next.first, is_here ? b : next.second, is_here ? c : next.third,
          is_here ? d : next.fourth};
}

inline __device__ Words two_over_pi(float, int index) {
  return words_from(index, 0, 0xa2f9836e4e441529U, 0xfc2757d1f534ddc0U, 0xdb6295993c439041U,
                    0xfe5163abdebbc561U, 0xb7246e3a424dd2e0U);
}
inline __device__ Words two_over_pi(double, int index) {
  return words_from(
      index, 0, 0xa2f9836e4e441529U, 0xfc2757d1f534ddc0U, 0xdb6295993c439041U, 0xfe5163abdebbc561U,
      0xb7246e3a424dd2e0U, 0x06492eea09d1921cU, 0xfe1deb1cb129a73eU, 0xe88235f52ebb4484U,
      0xe99c7026b45f7e41U, 0x3991d639835339f4U, 0x9c845f8bbdf9283bU, 0x1ff897ffde05980fU,
      0xef2f118b5a0a6d1fU, 0x6d367ecf27cb09b7U, 0x4f463f669e5fea2dU, 0x7527bac7ebe5f17bU,
      0x3d0739f78a5292eaU, 0x6bfb5fb11f8d5d08U, 0x56033046fc7b6babU);
}

inline __device__ uint64_t joined(uint64_t high, uint64_t low, int shift) {
  return high << shift | (low >> 1) >> (63 - shift);
}

inline __device__ uint64_t high_product(uint64_t a, uint64_t b) {
  const uint64_t a_low = static_cast<uint32_t>(a);
  const uint64_t a_high = a >> 32;
  const uint64_t b_low = static_cast<uint32_t>(b);
  const uint64_t b_high = b >> 32;
  const uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  const uint64_t other = a_low * b_high + static_cast<uint32_t>(middle);
  return a_high * b_high + (middle >> 32) + (other >> 32);
}

/// For x from 2^7 on. x 2 / pi is a whole number times bits of 2 / pi; those that yield multiples
/// of 4 are left out, and so are those beyond 2^-120.
template <class T>
inline __device__ Reduced<T> reduce_large(T x) {
  typedef Format<T> F;
  typedef typename F::Bits Bits;
  const Bits bits = bits_of(x);
  const Bits one = static_cast<Bits>(1) << F::mantissa_bits;
  const uint64_t mantissa = (bits & (one - 1)) | one;
  const int exponent = static_cast<int>(bits >> F::mantissa_bits) - F::bias - F::mantissa_bits;
  // The bit of this place, counted from 64 for that of weight 1/2, times the lowest of the mantissa
  // is 2.
  const int place = exponent + 62;
  const int shift = place & 63;
  const Words words = two_over_pi(x, place >> 6);
  const uint64_t middle = joined(words.second, words.third, shift);
  uint64_t high =
      mantissa * joined(words.first, words.second, shift) + high_product(mantissa, middle);
  if (sizeof(T) == sizeof(float)) return reduce_quarters<T>(high, 0);  // 2^-62 is enough
  const uint64_t last = high_product(mantissa, joined(words.third, words.fourth, shift));
  const uint64_t low = mantissa * middle + last;
  if (low < last) ++high;
  return reduce_quarters<T>(high, low);
}

/// The rare large arguments are a branch, which whole warps skip.
template <class T>
inline __device__ Reduced<T> reduce(T x) {
  if (x < HalfPi::end(x) || !(x < infinity<T>())) return reduce_moderate(x);
  return reduce_large(x);
}

// (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 over v = r^2, |r| <= 0.793; errors 2^-27 and
// 2^-57 of sin r, 2^-32 and 2^-63 of cos r.
inline __device__ float sin_terms(float v) {
  return horner(v, -0.16666654F, 0.008332108F, -0.00019508234F);
}
inline __device__ double sin_terms(double v) {
  return horner(v, -0.16666666666666627, 0.008333333333321072, -0.00019841269828701618,
                2.755731329975328e-06, -2.5050695644868572e-08, 1.589312198496522e-10);
}
inline __device__ float cos_terms(float v) {
  return horner(v, 0.041666646F, -0.0013887299F, 2.4430285e-05F);
}
inline __device__ double cos_terms(double v) {
  return horner(v, 0.04166666666666658, -0.001388888888887105, 2.480158728761202e-05,
                -2.755731382292429e-07, 2.0875652475796528e-09, -1.1356031133904141e-11);
}

/// sin(a + l) = a + a^3 S + l (1 - a^2/2), cos(a + l) = 1 - a^2/2 + a^4 C - l a, of which each lane
/// takes one; the quadrant's second bit is the sign.
template <class T>
inline __device__ T sine_of(Reduced<T> reduced) {
  const T a = reduced.angle.high;
  const T l = reduced.angle.low;
  const T v = a * a;
  const T half = T(0.5) * v;
  const T sine = a + fused(a * v, sin_terms(v), fused(-l, half, l));
  const Pair<T> first = ordered_sum(T(1), -half);
  const T cosine = first.high + (first.low + fused(v * v, cos_terms(v), -a * l));
  const T result = (reduced.quadrant & 1) != 0 ? cosine : sine;
  return (reduced.quadrant & 2) != 0 ? -result : result;
}

template <class T>
inline __device__ T sine(T x) {
  const T size = absolute(x);
  const T result = sine_of(reduce(size));
  const T with_sign = bits_of(x) == bits_of(size) ? result : -result;
  return size < infinity<T>() ? with_sign : not_a_number<T>();
}

template <class T>
inline __device__ T cosine(T x) {
  const T size = absolute(x);
  Reduced<T> reduced = reduce(size);
  ++reduced.quadrant;
  return size < infinity<T>() ? sine_of(reduced) : not_a_number<T>();
}

}  // namespace hiptool_math
