// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <algorithm>

#include "base/units.hpp"

namespace hiptool::base {
namespace {

// " tensor", " tensors"
std::string noun_of(std::uint64_t count, std::string_view noun) {
  return " " + std::string(noun) + (count == 1 ? "" : "s");
}

char to_lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

constexpr std::string_view error_prefix = "error: ";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

void append_utf8(std::string& text, std::uint32_t point) {
  const auto add = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0 | (point >> 6));
    add(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    add(0xE0 | (point >> 12));
    add(0x80 | ((point >> 6) & 0x3F));
    add(0x80 | (point & 0x3F));
  } else {
    add(0xF0 | (point >> 18));
    add(0x80 | ((point >> 12) & 0x3F));
    add(0x80 | ((point >> 6) & 0x3F));
    add(0x80 | (point & 0x3F));
  }
}

// Of the units after the mark; half a pair or half a unit becomes U+FFFD.
std::string utf8_of_utf16(std::string_view bytes, bool is_little_endian) {
  constexpr std::uint32_t replacement = 0xFFFD;
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<std::uint32_t>(is_little_endian ? first | second << 8 : first << 8 | second);
  };
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += 2) {
    if (at + 1 == bytes.size()) {
      append_utf8(text, replacement);
      break;
    }
    std::uint32_t point = unit(at);
    if (point >= 0xD800 && point < 0xE000) {
      const std::uint32_t low = at + 3 < bytes.size() ? unit(at + 2) : 0;
      if (point < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        at += 2;
      } else {
        point = replacement;
      }
    }
    append_utf8(text, point);
  }
  return text;
}

bool is_letter_or_digit(char letter) {
  const char lower = to_lower(letter);
  return (lower >= 'a' && lower <= 'z') || (letter >= '0' && letter <= '9');
}

}  // namespace

std::string decode_text(std::string text) {
  if (is_utf16(text)) return utf8_of_utf16(std::string_view(text).substr(2), text[0] == '\xFF');
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  return text;
}

bool is_utf16(std::string_view text) noexcept {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

std::string quoted_for_shell(const std::string& text) {
  constexpr std::string_view plain = "/:._-~%+=@,";
  const bool is_plain = !text.empty() && std::ranges::all_of(text, [plain](char letter) {
    return is_letter_or_digit(letter) || plain.find(letter) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char one, char other) { return to_lower(one) == to_lower(other); });
}

std::string lower_case(std::string text) {
  for (char& letter : text) letter = to_lower(letter);
  return text;
}

bool is_all_digits(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string to_hex(std::uint64_t number) {
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4) {
    text[i] = "0123456789abcdef"[number & 15];
  }
  return text;
}

std::string count_of(std::uint64_t count, std::string_view noun) {
  return format_count(count) + noun_of(count, noun);
}

std::string plain_count_of(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + noun_of(count, noun);
}

std::string range_of(std::string_view low, std::string_view high) {
  if (low == high) return std::string(low);
  const std::size_t blank = std::min(low.rfind(' '), low.size());
  const std::string_view unit = low.substr(blank);
  // "4 096" ends in digits, not in a unit.
  const bool is_unit = unit.size() > 1 && (unit[1] < '0' || unit[1] > '9');
  if (is_unit && high.ends_with(unit)) low = low.substr(0, blank);
  return std::string(low).append(" to ").append(high);
}

std::string one_line_of(std::string_view message) {
  std::string line(message.substr(0, message.find('\n')));
  std::vector<std::string_view> output;
  for (std::size_t begin = line.size(); begin < message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    std::string_view next = trimmed(message.substr(begin, end - begin));
    if (next.starts_with(error_prefix)) next.remove_prefix(error_prefix.size());
    if (!next.empty() && !next.starts_with("hint:")) output.push_back(next);
    begin = end + 1;
  }
  const auto diagnostic = std::ranges::find_if(output, [](std::string_view text) {
    return text.find(": error: ") != std::string_view::npos;
  });
  if (diagnostic != output.end()) output = {*diagnostic};
  for (std::size_t i = 0; i < std::min<std::size_t>(output.size(), 2); ++i) {
    if (!line.empty() && line.back() == ':') line.pop_back();
    line += ": ";
    line += output[i];
  }
  if (!line.empty() && line.back() == ':') line.pop_back();
  return line;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string first_of(const std::vector<std::string>& words, std::size_t most,
                     std::string_view between) {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) {
    if (i > 0) text += between;
    text += words[i];
  }
  if (words.size() > most) text += " and " + std::to_string(words.size() - most) + " more";
  return text;
}

namespace {

bool is_digit(char letter) noexcept { return letter >= '0' && letter <= '9'; }

std::size_t end_of_digits(std::string_view text, std::size_t start) noexcept {
  while (start < text.size() && is_digit(text[start])) ++start;
  return start;
}

std::string_view without_zeros(std::string_view digits) noexcept {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

/// The number that follows these digits, as long as they are where they begin with zero; empty for
/// no digits or too many.
std::string next_number(std::string_view digits) {
  const auto number = parse_number<std::uint64_t>(digits);
  if (!number || *number == UINT64_MAX) return {};
  const std::string next = std::to_string(*number + 1);
  const std::size_t zeros = digits.size() > next.size() ? digits.size() - next.size() : 0;
  return std::string(zeros, '0') + next;
}

}  // namespace

bool is_natural_before(std::string_view left, std::string_view right) noexcept {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() && j < right.size()) {
    if (!is_digit(left[i]) || !is_digit(right[j])) {
      if (left[i] != right[j]) {
        return static_cast<unsigned char>(left[i]) < static_cast<unsigned char>(right[j]);
      }
      ++i;
      ++j;
      continue;
    }
    const std::size_t left_end = end_of_digits(left, i);
    const std::size_t right_end = end_of_digits(right, j);
    const std::string_view left_number = without_zeros(left.substr(i, left_end - i));
    const std::string_view right_number = without_zeros(right.substr(j, right_end - j));
    if (left_number.size() != right_number.size()) return left_number.size() < right_number.size();
    if (left_number != right_number) return left_number < right_number;
    i = left_end;
    j = right_end;
  }
  const bool has_left = i < left.size();
  const bool has_right = j < right.size();
  if (has_left != has_right) return has_right;
  return left < right;  // "07" and "7"
}

std::string ranges_of(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), is_natural_before);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  std::string next;  // the name that would continue the range
  std::string last;  // the number that ends the range so far; empty for one name
  for (const std::string& name : names) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    const std::string number = name.substr(digits);
    if (!number.empty() && name == next) {
      last = number;
    } else {
      if (!last.empty()) text += "-" + last;
      text += (text.empty() ? "" : ", ") + name;
      last.clear();
    }
    const std::string following = next_number(number);
    next = following.empty() ? "" : name.substr(0, digits) + following;
  }
  return last.empty() ? text : text + "-" + last;
}

}  // namespace hiptool::base
