// SPDX-License-Identifier: MIT
#include "base/sha256.hpp"

#include <array>

namespace hiptool::base {

std::string Sha256::hex_digest() {
  constexpr char digits[] = "0123456789abcdef";
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&state_, digest.size(), digest.data());
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace hiptool::base
