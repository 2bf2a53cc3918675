// SPDX-License-Identifier: MIT
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::base {

/// True when two texts differ in nothing but the case of ASCII letters, whatever the locale is.
bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept;

/// The text with its ASCII letters in lower case, whatever the locale is.
std::string lower_case(std::string text);

/// True for one decimal digit or more and nothing else.
bool is_all_digits(std::string_view text) noexcept;

/// The number that the whole text spells, as std::from_chars reads it; absent otherwise. `format`
/// is the base of an integer or the std::chars_format of a floating-point number.
template <typename Number, typename... Format>
std::optional<Number> parse_number(std::string_view text, Format... format) noexcept {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, format...);
  if (error != std::errc{} || stop != end) return {};
  return number;
}

/// 16 hexadecimal digits, lower case.
std::string to_hex(std::uint64_t number);

/// "1 tensor", "0 tensors", "4 096 tensors".
std::string count_of(std::uint64_t count, std::string_view noun);

/// "1 byte", "4096 bytes": without groups, for numbers that a reader compares with other programs'.
std::string plain_count_of(std::uint64_t count, std::string_view noun);

/// "48.1 to 55.0 GB/s": the unit once where both have the same, and one value where both are the
/// same text.
std::string range_of(std::string_view low, std::string_view high);

/// The text in UTF-8 without its byte order mark, as programs of Windows write it: UTF-8 after a
/// mark, and UTF-16 with a mark (PowerShell's `>`). Text that a person gives passes through here.
std::string decode_text(std::string text);

/// The mark in front of UTF-8.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// True where UTF-16 begins, by its mark.
bool is_utf16(std::string_view text) noexcept;

/// The text as one word of a POSIX shell, in quotation marks where it needs them.
std::string quoted_for_shell(const std::string& text);

/// One line for a message whose further lines are the output of a compiler or of a process: the
/// first line, then the first diagnostic ("file:3:5: error: ..."), or where there is none the first
/// two lines of output, without hints.
std::string one_line_of(std::string_view message);

/// The text with each `from` replaced.
std::string replaced(std::string text, std::string_view from, std::string_view to);

/// "a, b": at most that many of them, then " and 3 more".
std::string first_of(const std::vector<std::string>& words, std::size_t most,
                     std::string_view between = ", ");

/// The order in which people count: node2 before node10. Numbers inside the texts are compared as
/// numbers, all else byte by byte; a strict order of distinct texts.
bool is_natural_before(std::string_view left, std::string_view right) noexcept;

/// The names in natural order, each once, consecutive numbers at their ends as a range: "node1-3,
/// node7", "amd:0-7". Numbers with leading zeros must have the same length: "node08-12".
std::string ranges_of(std::vector<std::string> names);

}  // namespace hiptool::base
