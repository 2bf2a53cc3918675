// SPDX-License-Identifier: MIT
#pragma once
#include <nettle/sha2.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hiptool::base {

/// Incremental SHA-256 (FIPS 180-4).
class Sha256 {
 public:
  Sha256() noexcept { sha256_init(&state_); }

  void add(std::span<const std::byte> bytes) noexcept {
    sha256_update(&state_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }
  /// 64 hexadecimal digits, lower case. Resets the object.
  std::string hex_digest();

 private:
  sha256_ctx state_;
};

}  // namespace hiptool::base
