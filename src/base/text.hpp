// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hiptool::base {

/// True when two texts differ in nothing but the case of ASCII letters, whatever the locale is.
bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept;

/// True for one decimal digit or more and nothing else.
bool is_all_digits(std::string_view text) noexcept;

/// 16 hexadecimal digits, lower case.
std::string to_hex(std::uint64_t number);

/// "1 tensor", "0 tensors", "4 096 tensors".
std::string count_of(std::uint64_t count, std::string_view noun);

}  // namespace hiptool::base
