// SPDX-License-Identifier: MIT
#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <span>

#include "base/utf8.hpp"

namespace hiptool::report {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Unicode 15 general categories Mn and Me of common scripts, zero width joiners, selectors.
constexpr std::array no_width{
    Range{0x0300, 0x036f}, Range{0x0483, 0x0489}, Range{0x0591, 0x05bd},  Range{0x0610, 0x061a},
    Range{0x064b, 0x065f}, Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff},  Range{0x200b, 0x200d},
    Range{0x20d0, 0x20ff}, Range{0x302a, 0x302d}, Range{0x3099, 0x309a},  Range{0xfe00, 0xfe0f},
    Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff}, Range{0xe0100, 0xe01ef}};

// Unicode 15 EastAsianWidth W and F, neighbouring blocks joined.
constexpr std::array double_width{
    Range{0x1100, 0x115f},   Range{0x2329, 0x232a},   Range{0x2e80, 0x303e},
    Range{0x3041, 0x33ff},   Range{0x3400, 0x4dbf},   Range{0x4e00, 0xa4cf},
    Range{0xa960, 0xa97f},   Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},
    Range{0xfe10, 0xfe19},   Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},
    Range{0xffe0, 0xffe6},   Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff},
    Range{0x1f900, 0x1f9ff}, Range{0x20000, 0x3fffd}};

// C0, DEL and C1 controls; Unicode's bidirectional controls (UAX 9) and line separators.
constexpr std::array unsafe{Range{0x00, 0x1f},     Range{0x7f, 0x9f},     Range{0x061c, 0x061c},
                            Range{0x200e, 0x200f}, Range{0x2028, 0x202e}, Range{0x2066, 0x2069}};

bool is_in(std::span<const Range> ranges, std::uint32_t code_point) {
  return std::any_of(ranges.begin(), ranges.end(), [code_point](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

std::size_t width_of(std::uint32_t code_point) {
  if (code_point < 0x300) return 1;
  if (is_in(no_width, code_point)) return 0;
  return is_in(double_width, code_point) ? 2 : 1;
}

// The longest start of the text that takes at most `width` columns; at least one code point.
std::size_t bytes_that_fit(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  std::size_t used = 0;
  while (bytes < text.size()) {
    const base::CodePoint next = base::first_code_point(text.substr(bytes));
    used += next.bytes == 0 ? 1 : width_of(next.value);
    if (used > width && bytes > 0) break;
    bytes += std::max<std::size_t>(next.bytes, 1);
  }
  return bytes;
}

// Bytes of printable ASCII that the text starts with: nearly all of what is written.
std::size_t plain_bytes(std::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(),
                                [](char letter) { return letter < ' ' || letter > '~'; });
  return static_cast<std::size_t>(end - text.begin());
}

std::string_view without_trailing_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// Never cuts inside a character: the bytes that continue one in UTF-8 are 10xxxxxx.
std::string_view begin_of(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
  return text.substr(0, end);
}

bool is_plain_number(std::string_view word) {
  return !word.empty() && word.front() >= '0' && word.front() <= '9' &&
         word.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Whether a number counts or measures in that word: not so in "Xid 121 to" and "1 of 2".
bool is_unit(std::string_view word) {
  constexpr std::string_view others[] = {"and",  "are",  "as",  "at", "but", "by",   "for",
                                         "from", "in",   "is",  "of", "on",  "or",   "so",
                                         "than", "that", "the", "to", "was", "were", "with"};
  return std::find(std::begin(others), std::end(others), word) == std::end(others);
}

// Whether that blank is part of "55.3 GB/s", "8 tokens", "1 024" or "< 20".
bool is_inside_quantity(std::string_view text, std::size_t blank) {
  const std::size_t start = text.find_last_of(' ', blank - 1) + 1;
  const std::string_view word = text.substr(start, blank - start);
  const std::string_view next = text.substr(blank + 1, text.find(' ', blank + 1) - blank - 1);
  if (next.empty()) return false;
  if (word == "<" || word == "<=" || word == ">" || word == ">=") return true;
  return is_plain_number(word) && (is_plain_number(next) ? next.size() == 3 : is_unit(next));
}

// That blank, or an earlier one where it would part a number from its unit or its sign.
std::size_t place_to_break(std::string_view text, std::size_t blank, std::size_t start) {
  std::size_t place = blank;
  while (is_inside_quantity(text, place)) {
    place = text.find_last_of(' ', place - 1);
    if (place == std::string_view::npos || place <= start) return blank;
  }
  return place;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t plain = plain_bytes(text);
    safe.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const base::CodePoint next = base::first_code_point(text);
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    if (next.bytes != 0 && !is_in(unsafe, next.value)) {
      safe.append(text.substr(0, bytes));
    } else {
      for (const char letter : text.substr(0, bytes)) {
        safe += fmt::format("\\x{:02X}", static_cast<unsigned char>(letter));
      }
    }
    text.remove_prefix(bytes);
  }
  return safe;
}

std::string printable_lines(std::string_view text, std::size_t line_bytes) {
  const bool is_cut = text.size() > most_text_bytes;
  text = begin_of(text, most_text_bytes);
  std::string safe;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    safe += printable(begin_of(line, line_bytes));
    if (line.size() > line_bytes) safe += "...";
    if (end == std::string_view::npos) break;
    safe += '\n';
    begin = end + 1;
  }
  return is_cut ? safe + "..." : safe;
}

std::string fixed_text(double value, int decimals) {
  return fmt::format("{:.{}f}", value, decimals);
}

std::string exact_text(double value) {
  std::array<char, 48> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return std::string(digits.data(), result.ptr);
}

std::string one_line(std::string_view text) {
  std::string joined;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.empty()) {
      if (!joined.empty()) joined += joined.back() == ':' ? " " : "; ";
      joined += line;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return joined;
}

std::string and_list(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " and ";
    text += words[i];
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t plain = plain_bytes(text);
    width += plain;
    text.remove_prefix(plain);
    if (text.empty()) break;
    const base::CodePoint next = base::first_code_point(text);
    width += next.bytes == 0 ? 1 : width_of(next.value);
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  constexpr std::string_view more = " ...";
  const std::string_view start = text.substr(0, bytes_that_fit(text, width - more.size() - 1));
  const std::size_t figure = start.rfind(", ");
  if (figure != std::string_view::npos && figure > width / 3) {
    return fmt::format("{},{}", start.substr(0, figure), more);
  }
  const std::size_t word = start.rfind(' ');
  const bool has_word = word != std::string_view::npos && word >= width / 2;
  return fmt::format("{}{}", has_word ? start.substr(0, word) : start, more);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines;
  text = without_trailing_blanks(text);
  do {
    const std::string lead(lines.empty() ? 0 : indent, ' ');
    std::size_t bytes = bytes_that_fit(text, width > lead.size() ? width - lead.size() : 1);
    if (bytes < text.size()) {
      // A blank among the first letters' own indentation is not a place to break.
      const std::size_t start = std::min(text.find_first_not_of(' '), bytes);
      const std::size_t blank = text.find_last_of(' ', bytes);
      const bool has_blank = blank != std::string_view::npos && blank > start;
      const std::size_t word = has_blank ? blank + 1 : start;
      const std::size_t word_end = std::min(text.find(' ', word), text.size());
      // Of lists, and of ids such as "nvidia:0>nvidia:1+nvidia:2".
      const std::size_t joint = text.substr(0, bytes).find_last_of(",+>");
      const bool has_joint = joint != std::string_view::npos && joint > word;
      if (has_joint && indent + display_width(text.substr(word, word_end - word)) > width) {
        bytes = joint + 1;
      } else if (has_blank) {
        bytes = place_to_break(text, blank, start);
      }
    }
    lines.push_back(lead + std::string(without_trailing_blanks(text.substr(0, bytes))));
    text.remove_prefix(bytes);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  } while (!text.empty());
  return lines;
}

}  // namespace hiptool::report
