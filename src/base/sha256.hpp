// SPDX-License-Identifier: MIT
#pragma once
#include <nettle/sha2.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hiptool::base {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
 public:
  Sha256() noexcept { sha256_init(&state_); }

  void add(std::span<const std::byte> bytes) noexcept {
    sha256_update(&state_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }
  /// In 64 hexadecimal digits, lower case. Afterwards the object is as new.
  std::string hex_digest();

 private:
  sha256_ctx state_;
};

}  // namespace hiptool::base
