// SPDX-License-Identifier: MIT
#include "model/text.hpp"

#include <cstddef>

namespace hiptool::model {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t index) {
  return index < text.size() ? static_cast<std::uint8_t>(text[index]) : 0;
}

bool is_continuation(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

// Length of the UTF-8 sequence that starts here, 0 when it is malformed.
std::size_t sequence_length(std::string_view text, std::size_t start) {
  const std::uint8_t first = byte_at(text, start);
  if (first < 0x80) return 1;
  const std::uint8_t second = byte_at(text, start + 1);
  if (first < 0xC2 || first > 0xF4 || !is_continuation(second)) return 0;
  if (first < 0xE0) return 2;
  if (!is_continuation(byte_at(text, start + 2))) return 0;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (!is_continuation(byte_at(text, start + 3))) return 0;
  const bool overlong = first == 0xF0 && second < 0x90;
  const bool too_large = first == 0xF4 && second >= 0x90;
  return overlong || too_large ? 0 : 4;
}

}  // namespace

void append_hex(std::string& text, std::uint8_t byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  text += digits[byte >> 4];
  text += digits[byte & 15];
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t index = 0; index < text.size();) {
    const std::size_t length = sequence_length(text, index);
    if (length == 0) return false;
    index += length;
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
    const std::uint8_t byte = byte_at(name, index);
    const std::size_t length = sequence_length(name, index);
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
