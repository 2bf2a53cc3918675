// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hiptool::base {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  ///< 0: the text does not start with well-formed UTF-8
};

/// The code point that a text, which must not be empty, starts with. Well-formed sequences only
/// (RFC 3629): no overlong forms, no surrogates, nothing past U+10FFFF.
inline CodePoint first_code_point(std::string_view text) noexcept {
  const auto byte_at = [text](std::size_t index) -> std::uint32_t {
    return static_cast<unsigned char>(text[index]);
  };
  const std::uint32_t lead = byte_at(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xc2 || lead > 0xf4) return {};
  const std::size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (bytes > text.size()) return {};
  std::uint32_t value = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(i) & 0xc0u) != 0x80u) return {};
    value = value << 6 | (byte_at(i) & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < smallest[bytes] || value > 0x10ffff || is_surrogate) return {};
  return {value, bytes};
}

}  // namespace hiptool::base
