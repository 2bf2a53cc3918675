// SPDX-License-Identifier: MIT
#include "model/text.hpp"

#include <cstddef>

#include "base/utf8.hpp"

namespace hiptool::model {

void append_hex(std::string& text, std::uint8_t byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  text += digits[byte >> 4];
  text += digits[byte & 15];
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = base::first_code_point(text).bytes;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t limit_bytes = 100;
  std::string text = "'";
  for (std::size_t index = 0; index < name.size();) {
    if (index >= limit_bytes) {
      text += "...";
      break;
    }
    const auto byte = static_cast<std::uint8_t>(name[index]);
    const std::size_t length = base::first_code_point(name.substr(index)).bytes;
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      append_hex(text += "\\x", byte);
      ++index;
    } else {
      text += name.substr(index, length);
      index += length;
    }
  }
  return text + "'";
}

}  // namespace hiptool::model
