// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hiptool/export.hpp"

namespace hiptool {

/// The types of tensors. (The type of elements in a model file is ElementType.) Of i8 there are
/// copies, and products with ops::matmul_i32; other operations throw Error(unsupported).
enum class DType { u8, u32, i16, i32, i64, f16, bf16, f32, f64, f8e4m3, i8 };

/// Those that operations compute with, in the order of the enum: all but i8.
inline constexpr std::array dtypes{DType::u8,  DType::u32,  DType::i16, DType::i32, DType::i64,
                                   DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8e4m3};

/// "u8", "bf16", "f8e4m3": the enum's own spelling, the only one there is.
HIPTOOL_API std::string_view to_string(DType dtype) noexcept;

/// The type of that name, or nothing.
HIPTOOL_API std::optional<DType> dtype_from_name(std::string_view name) noexcept;

/// Bytes of one element.
HIPTOOL_API std::size_t element_size_bytes(DType dtype) noexcept;

/// f16, bf16, f32, f64 and f8e4m3.
HIPTOOL_API bool is_floating_point(DType dtype) noexcept;

// The small floating-point types as bits. Every value of them is a float, so to_float is exact. The
// way back rounds to nearest, ties to even, and keeps subnormal numbers and the sign of zero. NaN
// stays NaN with its sign; where the type can hold a payload (not f8e4m3) its upper bits are
// kept and the quiet bit is set, as IEEE 754-2008, 6.2.3, recommends.

/// binary16 of IEEE 754-2008, 3.6: 5 bits of exponent, 10 of fraction, largest 65504.
struct Half {
  std::uint16_t bits = 0;
  friend bool operator==(Half, Half) = default;
};

/// The upper half of a binary32: 8 bits of exponent, 7 of fraction.
struct BFloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// E4M3 of the OCP 8-bit Floating Point Specification (OFP8) 1.0: exponent bias 7, largest 448,
/// smallest 2^-9; no infinities; NaN is 0x7F and 0xFF. Compared as bits, like the others.
struct Float8E4M3 {
  std::uint8_t bits = 0;
  friend bool operator==(Float8E4M3, Float8E4M3) = default;
};

/// Conversion of values that f8e4m3 cannot hold, infinities among them: both are conversion modes
/// of OFP8 1.0, 5.2.
enum class Float8Overflow {
  saturate,  ///< the largest number of the same sign, 448 or -448
  to_nan
};

HIPTOOL_API float to_float(Half value) noexcept;
HIPTOOL_API float to_float(BFloat16 value) noexcept;
HIPTOOL_API float to_float(Float8E4M3 value) noexcept;

/// Above the largest number (from 65520 on) it is infinity.
HIPTOOL_API Half to_half(float value) noexcept;
HIPTOOL_API BFloat16 to_bfloat16(float value) noexcept;
/// Overflow is what rounds to more than 448: magnitudes above 464.
HIPTOOL_API Float8E4M3 to_float8_e4m3(float value,
                                      Float8Overflow overflow = Float8Overflow::saturate) noexcept;

/// The DType of a C++ type: `dtype_of<float>` is DType::f32. Types that have none do not compile.
template <class Value>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(Value) == 0, "this type has no DType");
  return DType{};
}();
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <>
inline constexpr DType dtype_of<std::uint32_t> = DType::u32;
template <>
inline constexpr DType dtype_of<std::int16_t> = DType::i16;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<Half> = DType::f16;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<Float8E4M3> = DType::f8e4m3;

}  // namespace hiptool
