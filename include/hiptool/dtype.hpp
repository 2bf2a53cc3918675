// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "hiptool/export.hpp"

namespace hiptool {

/// The types of tensors. (The type of elements in a model file is ElementType.) Of i8 there are
/// copies, and products with ops::matmul_i32; other operations throw Error(unsupported).
enum class DType { u8, u32, i16, i32, i64, f16, bf16, f32, f64, f8e4m3, i8 };

/// Those that operations compute with, in the order of the enum: all but i8.
inline constexpr std::array dtypes{DType::u8,  DType::u32,  DType::i16, DType::i32, DType::i64,
                                   DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8e4m3};

/// "u8", "bf16", "f8e4m3": the enum's own spelling, the only one there is. "unknown" for a number
/// that is none of the enum.
[[nodiscard]] HIPTOOL_API std::string_view to_string(DType dtype) noexcept;

/// The type of that name, or nothing.
[[nodiscard]] HIPTOOL_API std::optional<DType> dtype_from_name(std::string_view name) noexcept;

/// Bytes of one element; 0 for a number that is none of the enum.
[[nodiscard]] HIPTOOL_API std::size_t element_size_bytes(DType dtype) noexcept;

/// f16, bf16, f32, f64 and f8e4m3.
[[nodiscard]] HIPTOOL_API bool is_floating_point(DType dtype) noexcept;

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

[[nodiscard]] HIPTOOL_API float to_float(Half value) noexcept;
[[nodiscard]] HIPTOOL_API float to_float(BFloat16 value) noexcept;
[[nodiscard]] HIPTOOL_API float to_float(Float8E4M3 value) noexcept;

/// Above the largest number (from 65520 on) it is infinity.
[[nodiscard]] HIPTOOL_API Half to_half(float value) noexcept;
[[nodiscard]] HIPTOOL_API BFloat16 to_bfloat16(float value) noexcept;
/// Overflow is what rounds to more than 448: magnitudes above 464.
[[nodiscard]] HIPTOOL_API Float8E4M3
to_float8_e4m3(float value, Float8Overflow overflow = Float8Overflow::saturate) noexcept;

/// The DType of a C++ type: `dtype_of<float>()` is DType::f32. Types that have none do not compile.
/// (That of elements in a model file: dtype_of(ElementType).)
template <class Value>
[[nodiscard]] constexpr DType dtype_of() noexcept {
  if constexpr (std::is_same_v<Value, std::uint8_t>) {
    return DType::u8;
  } else if constexpr (std::is_same_v<Value, std::int8_t>) {
    return DType::i8;
  } else if constexpr (std::is_same_v<Value, std::uint32_t>) {
    return DType::u32;
  } else if constexpr (std::is_same_v<Value, std::int16_t>) {
    return DType::i16;
  } else if constexpr (std::is_same_v<Value, std::int32_t>) {
    return DType::i32;
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    return DType::i64;
  } else if constexpr (std::is_same_v<Value, Half>) {
    return DType::f16;
  } else if constexpr (std::is_same_v<Value, BFloat16>) {
    return DType::bf16;
  } else if constexpr (std::is_same_v<Value, float>) {
    return DType::f32;
  } else if constexpr (std::is_same_v<Value, double>) {
    return DType::f64;
  } else {
    static_assert(std::is_same_v<Value, Float8E4M3>, "this type has no DType");
    return DType::f8e4m3;
  }
}

}  // namespace hiptool
