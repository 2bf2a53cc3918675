// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"

namespace hiptool::test {

/// What a buffer holds. Blocks.
inline std::vector<std::byte> bytes_of(const Buffer& buffer) {
  std::vector<std::byte> bytes(buffer.size_bytes());
  copy_d2h_and_wait(bytes, buffer);
  return bytes;
}

}  // namespace hiptool::test
