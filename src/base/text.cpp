// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <algorithm>
#include <vector>

#include "base/units.hpp"

namespace hiptool::base {
namespace {

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

}  // namespace

bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char one, char other) { return to_lower(one) == to_lower(other); });
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
  std::string text = format_count(count) + " ";
  text += noun;
  return count == 1 ? text : text + "s";
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
  const auto diagnostic = std::find_if(output.begin(), output.end(), [](std::string_view text) {
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

}  // namespace hiptool::base
