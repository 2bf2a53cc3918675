// SPDX-License-Identifier: MIT
/// Half precision of kernel sources that run on the processor: values are kept as their 16 bits and
/// computed as float, which rounds +, -, *, / and sqrt like half precision itself (24 bits are more
/// than twice 11 and two). Names are CUDA's and HIP's own.
#pragma once
#include <math.h>

#include <cstdint>
#include <cstring>

namespace hiptool_cpu {

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// IEEE 754 binary16.
struct HalfFormat {
  static float widen(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t rest = bits & 0x7fffu;
    if (rest >= 0x7c00) return float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x400) return float_of(sign | ((rest << 13) + (112u << 23)));
    const float small = static_cast<float>(rest) * 0x1p-24f;
    return sign != 0 ? -small : small;
  }

  static std::uint16_t narrow(float value) {
    const std::uint32_t bits = bits_of(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t rest = bits & 0x7fffffffu;
    std::uint32_t half = 0;
    if (rest > 0x7f800000u) {
      half = 0x7fff;
    } else if (rest >= 0x47800000u) {  // 65536; a little below, rounding reaches infinity
      half = 0x7c00;
    } else if (rest >= 0x38800000u) {  // 2^-14: ties to even
      half = (rest - (112u << 23) + 0xfffu + ((rest >> 13) & 1u)) >> 13;
    } else {
      // The float's own rounding to multiples of 2^-24.
      half = bits_of(float_of(rest) + 0.5f) - bits_of(0.5f);
    }
    return static_cast<std::uint16_t>(sign | half);
  }
};

/// The upper half of a float.
struct BfloatFormat {
  static float widen(std::uint16_t bits) { return float_of(std::uint32_t{bits} << 16); }

  static std::uint16_t narrow(float value) {
    const std::uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
};

template <class Format>
struct Small {
  std::uint16_t bits;

  Small() = default;
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Small(Number number) : bits(Format::narrow(static_cast<float>(number))) {}

  operator float() const { return Format::widen(bits); }

  Small& operator+=(Small other) { return *this = *this + other; }
  Small& operator-=(Small other) { return *this = *this - other; }
  Small& operator*=(Small other) { return *this = *this * other; }
  Small& operator/=(Small other) { return *this = *this / other; }
  Small operator-() const { return -static_cast<float>(*this); }

  friend Small operator+(Small x, Small y) { return static_cast<float>(x) + static_cast<float>(y); }
  friend Small operator-(Small x, Small y) { return static_cast<float>(x) - static_cast<float>(y); }
  friend Small operator*(Small x, Small y) { return static_cast<float>(x) * static_cast<float>(y); }
  friend Small operator/(Small x, Small y) { return static_cast<float>(x) / static_cast<float>(y); }
};

/// Two of them, as the vector types of the vendors have them.
template <class Format>
struct alignas(4) SmallPair {
  Small<Format> x;
  Small<Format> y;

  friend SmallPair operator+(SmallPair a, SmallPair b) { return {a.x + b.x, a.y + b.y}; }
  friend SmallPair operator-(SmallPair a, SmallPair b) { return {a.x - b.x, a.y - b.y}; }
  friend SmallPair operator*(SmallPair a, SmallPair b) { return {a.x * b.x, a.y * b.y}; }
  friend SmallPair operator/(SmallPair a, SmallPair b) { return {a.x / b.x, a.y / b.y}; }
};

/// Rounded twice at most, of which the first leaves 53 bits.
template <class Format>
Small<Format> fused(Small<Format> x, Small<Format> y, Small<Format> z) {
  const double exact = fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
  return static_cast<float>(exact);
}

}  // namespace hiptool_cpu

using __half = hiptool_cpu::Small<hiptool_cpu::HalfFormat>;
using __half2 = hiptool_cpu::SmallPair<hiptool_cpu::HalfFormat>;
using half = __half;
using half2 = __half2;
using __nv_bfloat16 = hiptool_cpu::Small<hiptool_cpu::BfloatFormat>;
using __nv_bfloat162 = hiptool_cpu::SmallPair<hiptool_cpu::BfloatFormat>;
using __hip_bfloat16 = __nv_bfloat16;
using __hip_bfloat162 = __nv_bfloat162;
using hip_bfloat16 = __nv_bfloat16;

inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline float __half2float(__half x) { return x; }
inline __half __double2half(double x) { return static_cast<float>(x); }
inline __half __int2half_rn(int x) { return static_cast<float>(x); }
inline int __half2int_rn(__half x) { return static_cast<int>(lrintf(x)); }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline __half __ushort_as_half(unsigned short bits) {
  __half x;
  x.bits = bits;
  return x;
}
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }

// For half and bfloat16.
template <class F>
using hiptool_cpu_Small = hiptool_cpu::Small<F>;
template <class F>
hiptool_cpu_Small<F> __hadd(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return x + y;
}
template <class F>
hiptool_cpu_Small<F> __hsub(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return x - y;
}
template <class F>
hiptool_cpu_Small<F> __hmul(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return x * y;
}
template <class F>
hiptool_cpu_Small<F> __hdiv(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return x / y;
}
template <class F>
hiptool_cpu_Small<F> __hfma(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y,
                            hiptool_cpu_Small<F> z) {
  return hiptool_cpu::fused(x, y, z);
}
template <class F>
hiptool_cpu_Small<F> __hneg(hiptool_cpu_Small<F> x) {
  return -x;
}
template <class F>
hiptool_cpu_Small<F> __habs(hiptool_cpu_Small<F> x) {
  return fabsf(x);
}
template <class F>
hiptool_cpu_Small<F> __hmax(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return fmaxf(x, y);
}
template <class F>
hiptool_cpu_Small<F> __hmin(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return fminf(x, y);
}
template <class F>
hiptool_cpu_Small<F> hsqrt(hiptool_cpu_Small<F> x) {
  return sqrtf(x);
}
template <class F>
hiptool_cpu_Small<F> hexp(hiptool_cpu_Small<F> x) {
  return expf(x);
}
template <class F>
hiptool_cpu_Small<F> hlog(hiptool_cpu_Small<F> x) {
  return logf(x);
}
template <class F>
hiptool_cpu_Small<F> hrcp(hiptool_cpu_Small<F> x) {
  return 1.0f / static_cast<float>(x);
}
template <class F>
bool __heq(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return float(x) == float(y);
}
template <class F>
bool __hne(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return float(x) != float(y);
}
template <class F>
bool __hlt(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return float(x) < float(y);
}
template <class F>
bool __hle(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return float(x) <= float(y);
}
template <class F>
bool __hgt(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return float(x) > float(y);
}
template <class F>
bool __hge(hiptool_cpu_Small<F> x, hiptool_cpu_Small<F> y) {
  return float(x) >= float(y);
}
template <class F>
bool __hisnan(hiptool_cpu_Small<F> x) {
  return float(x) != float(x);
}

template <class F>
using hiptool_cpu_Pair = hiptool_cpu::SmallPair<F>;
template <class F>
hiptool_cpu_Pair<F> __hadd2(hiptool_cpu_Pair<F> a, hiptool_cpu_Pair<F> b) {
  return a + b;
}
template <class F>
hiptool_cpu_Pair<F> __hsub2(hiptool_cpu_Pair<F> a, hiptool_cpu_Pair<F> b) {
  return a - b;
}
template <class F>
hiptool_cpu_Pair<F> __hmul2(hiptool_cpu_Pair<F> a, hiptool_cpu_Pair<F> b) {
  return a * b;
}
template <class F>
hiptool_cpu_Pair<F> __hfma2(hiptool_cpu_Pair<F> a, hiptool_cpu_Pair<F> b, hiptool_cpu_Pair<F> c) {
  return {hiptool_cpu::fused(a.x, b.x, c.x), hiptool_cpu::fused(a.y, b.y, c.y)};
}
template <class F>
hiptool_cpu_Small<F> __low2half(hiptool_cpu_Pair<F> a) {
  return a.x;
}
template <class F>
hiptool_cpu_Small<F> __high2half(hiptool_cpu_Pair<F> a) {
  return a.y;
}
inline float __low2float(__half2 a) { return a.x; }
inline float __high2float(__half2 a) { return a.y; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
