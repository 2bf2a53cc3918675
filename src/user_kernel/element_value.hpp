// SPDX-License-Identifier: MIT
/// Elements of buffers and single arguments of kernels: from text to bytes and back.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"
#include "user_kernel/element_type.hpp"

namespace hiptool::user_kernel {

/// Throws Error(invalid_argument) with all types for an unknown name.
ElementType parse_element_type(std::string_view name);
std::string_view to_string(ElementType type) noexcept;
std::size_t size_bytes(ElementType type) noexcept;
bool is_real(ElementType type) noexcept;

/// The bytes of one number: decimal, inf or nan for reals, which are rounded to the nearest, ties
/// to even; 0x... is the bits of a number of any type. Throws Error(invalid_argument) for other
/// text and for a number out of the range of the type.
std::vector<std::byte> parse_element(ElementType type, std::string_view text);

/// The number in those bytes, of which there must be enough.
report::Value value_of(ElementType type, std::span<const std::byte> bytes);
double real_of(ElementType type, std::span<const std::byte> bytes);
/// The same bytes as an unsigned number.
std::uint64_t bits_of(ElementType type, std::span<const std::byte> bytes);

/// 0, 1, 2, ...: whole numbers wrap around, reals are rounded.
std::vector<std::byte> iota(ElementType type, std::uint64_t count);

/// Pseudo-random numbers (splitmix64, Steele, Lea and Flood 2014): all values of whole types, and
/// for reals multiples of a power of two in [0, 1).
std::vector<std::byte> random_elements(ElementType type, std::uint64_t count, std::uint64_t seed);

}  // namespace hiptool::user_kernel
