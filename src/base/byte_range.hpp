// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace hiptool::base {

/// Consecutive bytes of a file, of a tensor or of device memory.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;

  std::uint64_t end() const noexcept { return offset + size_bytes; }
};

}  // namespace hiptool::base
