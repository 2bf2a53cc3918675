// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <algorithm>

#include "hiptool/units.hpp"

namespace hiptool::base {
namespace {

char to_lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
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

}  // namespace hiptool::base
