// SPDX-License-Identifier: MIT
// Functions whose results are rounded to f16 or bf16: with the digits that these need and without
// slow paths, so that memory and not arithmetic sets the rate. All numbers of both types come out
// within 0.501 units in the last place (tests/unit/ops/narrow_test.cpp tries every one), with the
// same bits on every platform. What NaN leads to is not specified: callers replace it.
#pragma once
#include "hiptool_device.h"

namespace hiptool_narrow {

using hiptool_device::Bf16;
using hiptool_device::F16;

// One instruction each; of NaN and a number they return the number. `end` is not NaN.
inline __device__ float at_least(float x, float end) {
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__)
  return fmaxf(x, end);
#else
  return x > end ? x : end;
#endif
}
inline __device__ float at_most(float x, float end) {
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__)
  return fminf(x, end);
#else
  return x < end ? x : end;
#endif
}

// 1 / x rounded correctly, for x from 1 to 2^126.
inline __device__ float reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  // What ptxas makes of rcp.rn, without its way out for other numbers.
  float estimate;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(estimate) : "f"(x));
  return __fmaf_rn(estimate, __fmaf_rn(-x, estimate, 1.0F), estimate);
#else
  return 1.0F / x;
#endif
}

// Ends: below `exp_low` e^x is 0 in the type, above `exp_high` infinite. `one_high`: from there on
// 1 - sigmoid(x) is less than half a unit, and so is x - silu(x). Below `silu_low` and `gelu_low`
// the functions are -0. From `tanh_end` on tanh(x) is 1. All are numbers of the type. `scale` keeps
// both terms of a quotient normal numbers.
template <class Narrow>
struct Format;
template <>
struct Format<F16> {
  static constexpr float exp_low = -18.0F;
  static constexpr float exp_high = 12.0F;
  static constexpr float one_high = 12.0F;
  static constexpr float silu_low = -22.0F;
  static constexpr float gelu_low = -5.5F;
  static constexpr float gelu_high = 5.5F;
  static constexpr float tanh_end = 4.53125F;
  static constexpr float power = 1.0F;
  static constexpr float scale = 1.0F;
};
template <>
struct Format<Bf16> {
  static constexpr float exp_low = -94.0F;
  static constexpr float exp_high = 90.0F;
  static constexpr float one_high = 40.0F;
  static constexpr float silu_low = -98.0F;
  static constexpr float gelu_low = -10.5F;
  static constexpr float gelu_high = 5.5F;
  static constexpr float tanh_end = 3.5F;
  static constexpr float power = 0.5F;
  static constexpr float scale = 0x1p40F;
};

// Of a factor that the result is multiplied with: from an end on it is 0 even before numbers as
// large as the type has, and nothing is rounded to fewer digits than f32 has before that.
template <class Narrow>
struct Factor {};
template <class Narrow>
struct Format<Factor<Narrow>> {
  static constexpr float exp_low = -112.0F;
  static constexpr float one_high = 40.0F;
  static constexpr float silu_low = -112.0F;
  static constexpr float power = 0.5F;
};

// Below this end a term of a sum is 0: another term is 1, which it would not change.
template <class Narrow>
struct Term {};
template <>
struct Format<Term<F16>> {
  static constexpr float exp_low = -87.0F;
  static constexpr float power = 1.0F;
};
template <>
struct Format<Term<Bf16>> {
  static constexpr float exp_low = -94.0F;
  static constexpr float power = 0.5F;
};

constexpr float log2_e = 1.442695F;

// (2^f - 1) / f for |f| <= 1/2; errors 2^-23 (F16) and 2^-18 (Bf16) of 2^f.
inline __device__ float exp2_terms(F16, float f) {
  const float upper = __fmaf_rn(f, 0.0013274751F, 0.009671565F);
  return __fmaf_rn(f, __fmaf_rn(f, __fmaf_rn(f, upper, 0.055506993F), 0.24022241F), 0.693147F);
}
inline __device__ float exp2_terms(Bf16, float f) {
  return __fmaf_rn(f, __fmaf_rn(f, __fmaf_rn(f, 0.00958297F, 0.05590651F), 0.24024096F),
                   0.6931242F);
}
template <template <class> class Kind, class Narrow>
inline __device__ float exp2_terms(Kind<Narrow>, float f) {
  return exp2_terms(Narrow(), f);
}
// x factor = whole + rest, |rest| <= 1/2. Bits 23 and up of `shifted` are the bits of 2^whole,
// except for the bias.
struct Split {
  float rest;
  uint32_t shifted;
};
inline __device__ Split split(float x, float factor) {
  constexpr float rounder = 12582912.0F;  // 1.5 * 2^23: added, it leaves whole numbers
  const float sum = __fmaf_rn(x, factor, rounder);
  return {__fmaf_rn(x, factor, -(sum - rounder)), __float_as_uint(sum) << 23};
}

// 2^(x factor power), of bf16 the root of what is wanted: all values of f16 are far from the ends
// of f32, but squares of normal numbers reach bf16's subnormal ones and infinity.
template <class Narrow>
inline __device__ float exp2_root(float x, float factor) {
  const Split parts = split(x, factor * Format<Narrow>::power);
  const float mantissa = __fmaf_rn(parts.rest, exp2_terms(Narrow(), parts.rest), 1.0F);
  return __uint_as_float(__float_as_uint(mantissa) + parts.shifted);
}
template <class Narrow>
inline __device__ float squared(float root) {
  return Format<Narrow>::power == 1.0F ? root : root * root;
}

/// e^x for x <= 0, as a term of a sum.
template <class Narrow>
inline __device__ float exponential_term(float x) {
  const float inside = at_least(x, Format<Term<Narrow>>::exp_low);
  return squared<Term<Narrow>>(exp2_root<Term<Narrow>>(inside, log2_e));
}

// 2^(x factor) / (2^(x factor) + 1). For |f| <= 1/2 2^f is (f^2 + b f + c) / (f^2 - b f + c) within
// 2^-21, so that one division is enough.
template <class Narrow>
inline __device__ float share(float x, float factor) {
  constexpr float scale = Format<Narrow>::scale;
  constexpr float b = 8.677837F * scale;
  constexpr float c = 25.0391F * scale;
  const Split parts = split(x, factor);
  const float f = parts.rest;
  const float upper = __fmaf_rn(f, __fmaf_rn(f, scale, b), c);
  const float lower = __fmaf_rn(f, -2.0F * b, upper);
  const float power = __uint_as_float(__float_as_uint(upper) + parts.shifted);
  return power * reciprocal(power + lower);
}

// A function: `at(x)` for x not below `low` and, if it has an end there, not above `high`. Callers
// bring x there by `inside` or in another way with the same results.
template <class Function>
inline __device__ float inside(float x) {
  const float above = at_least(x, Function::low);
  return Function::has_high ? at_most(above, Function::high) : above;
}

/// e^x / (e^x + 1), as a factor.
template <class Narrow>
struct SigmoidFactor {
  typedef Factor<Narrow> Own;
  static constexpr float low = Format<Own>::exp_low;
  static constexpr float high = Format<Own>::one_high;
  static constexpr bool has_high = true;
  static __device__ float at(float x) {
    const float power = squared<Own>(exp2_root<Own>(x, log2_e));
    return power * reciprocal(power + 1.0F);
  }
};

/// x e^x / (e^x + 1), as a factor.
template <class Narrow>
struct SiluFactor {
  typedef Factor<Narrow> Own;
  static constexpr float low = Format<Own>::silu_low;
  static constexpr float high = Format<Own>::one_high;
  static constexpr bool has_high = false;
  static __device__ float at(float x) {
    const float root = exp2_root<Own>(at_most(x, high), log2_e);
    return root * reciprocal(squared<Own>(root) + 1.0F) * x * root;
  }
};

template <class Narrow>
struct Exponential {
  typedef Format<Narrow> F;
  static constexpr float low = F::exp_low;
  static constexpr float high = F::exp_high;
  static constexpr bool has_high = true;
  static __device__ float at(float x) { return squared<Narrow>(exp2_root<Narrow>(x, log2_e)); }
};

/// e^x / (e^x + 1).
template <class Narrow>
struct Sigmoid {
  typedef Format<Narrow> F;
  static constexpr float low = F::exp_low;
  static constexpr float high = F::one_high;
  static constexpr bool has_high = true;
  static __device__ float at(float x) { return share<Narrow>(x, log2_e); }
};

template <class Narrow>
struct Silu {
  typedef Format<Narrow> F;
  static constexpr float low = F::silu_low;
  static constexpr float high = F::one_high;
  static constexpr bool has_high = false;
  static __device__ float at(float x) { return x * share<Narrow>(at_most(x, high), log2_e); }
};

/// x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
template <class Narrow>
struct GeluTanh {
  typedef Format<Narrow> F;
  static constexpr float low = F::gelu_low;
  static constexpr float high = F::gelu_high;
  static constexpr bool has_high = false;
  static __device__ float at(float x) {
    const float near = at_most(x, high);
    return x * share<Narrow>(near, __fmaf_rn(near * near, 0.10294324F, 2.3022082F));
  }
};

// tanh(x) = x upper / lower, of polynomials in x^2 up to `tanh_end`: by least squares whose weights
// made all largest errors equal, 2^-25 (F16) and 2^-17.5 (Bf16) of the function.
inline __device__ float tanh_upper(F16, float square) {
  return __fmaf_rn(square,
                   __fmaf_rn(square, __fmaf_rn(square, 5.4787674e-06F, 0.002554947F), 0.12593624F),
                   1.0F);
}
inline __device__ float tanh_lower(F16, float square) {
  return __fmaf_rn(square,
                   __fmaf_rn(square, __fmaf_rn(square, 0.00017473502F, 0.022311857F), 0.45926932F),
                   1.0F);
}
inline __device__ float tanh_upper(Bf16, float square) {
  return __fmaf_rn(square, __fmaf_rn(square, 0.00082128425F, 0.10660257F), 0.99999446F);
}
inline __device__ float tanh_lower(Bf16, float square) {
  return __fmaf_rn(square, __fmaf_rn(square, 0.014185823F, 0.43988833F), 1.0F);
}

template <class Narrow>
struct HyperbolicTangent {
  static constexpr float high = Format<Narrow>::tanh_end;
  static constexpr float low = -high;
  static constexpr bool has_high = true;
  static __device__ float at(float x) {
    const float square = x * x;
    return x * tanh_upper(Narrow(), square) * reciprocal(tanh_lower(Narrow(), square));
  }
};

}  // namespace hiptool_narrow
