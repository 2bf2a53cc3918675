// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "hiptool/arena.hpp"
#include "hiptool/error.hpp"

namespace hiptool::runtime {

/// Sums up slices of f32 of an arena. Throws Error(invalid_argument) above 2^63 bytes.
class ByteCount {
 public:
  void add(std::uint64_t first, std::uint64_t second, std::uint64_t third = 1) {
    constexpr std::uint64_t padding = Arena::minimum_alignment_bytes;
    std::uint64_t bytes = 0;
    const bool overflows = __builtin_mul_overflow(first, second, &bytes) ||
                           __builtin_mul_overflow(bytes, third, &bytes) ||
                           __builtin_mul_overflow(bytes, sizeof(float), &bytes) ||
                           bytes > most - padding || total_ > most - padding - bytes;
    if (overflows) {
      throw Error(ErrorCode::invalid_argument, "make runtime",
                  "the KV cache would need more than 2^63 bytes", "choose a smaller context");
    }
    total_ += (bytes + padding - 1) / padding * padding;
  }
  std::uint64_t total() const { return total_; }

 private:
  static constexpr std::uint64_t most = std::uint64_t{1} << 63;
  std::uint64_t total_ = 0;
};

}  // namespace hiptool::runtime
