// SPDX-License-Identifier: MIT
/// Text as a terminal shows it: what is safe to print, how wide it is, where it breaks.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hiptool::report {

/// The text with every byte that could steer a terminal written as \xNN: control characters,
/// bytes that are not UTF-8, line separators and marks that change the direction of writing.
/// A second pass changes nothing.
std::string printable(std::string_view text);

inline constexpr std::size_t most_line_bytes = 4096;
inline constexpr std::size_t most_text_bytes = std::size_t{64} << 10;  ///< a compiler's output

/// Text from files and users, safe to print: printable() for each line, so that a name
/// cannot send escape sequences to the terminal. Long lines and texts are cut and end in "...".
std::string printable_lines(std::string_view text, std::size_t line_bytes = most_line_bytes);

/// A number in fixed notation, however many digits it has: "12.50" for two decimals, of which there
/// are at most 20.
std::string fixed_text(double value, int decimals);

/// The shortest digits that read back as the same number, whatever the locale is.
std::string exact_text(double value);

/// The lines of a message as one: joined by "; ", after a colon by a blank.
std::string one_line(std::string_view text);

/// "a", "a and b", "a, b and c".
std::string and_list(const std::vector<std::string>& words);

/// Columns that printable text takes: combining marks none, wide East Asian letters two.
std::size_t display_width(std::string_view text);

/// The text in at most `width` columns, of which it needs 8: cut after a figure ("55.3 GB/s, ..."),
/// or else after a word.
std::string shorten(std::string_view text, std::size_t width);

/// Lines of at most `width` columns, broken at blanks, inside a word only where it is longer than a
/// whole line, then after one of ",+>" if it has one. A number stays with what it counts. Lines
/// after the first start with `indent` blanks; none ends in blanks.
std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace hiptool::report
