// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstring>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/copy.hpp"

namespace hiptool::test {

/// Compared as a whole: byte by byte takes long without optimisation, and longer under a sanitizer.
struct BufferBytes : std::vector<std::byte> {
  using std::vector<std::byte>::vector;

  friend bool operator==(const BufferBytes& a, const std::vector<std::byte>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
  }
  friend bool operator==(const BufferBytes& a, const BufferBytes& b) {
    return a == static_cast<const std::vector<std::byte>&>(b);
  }
};

/// What a buffer holds. Blocks.
inline BufferBytes bytes_of(const Buffer& buffer) {
  BufferBytes bytes(buffer.size_bytes());
  copy_d2h_and_wait(bytes, buffer);
  return bytes;
}

}  // namespace hiptool::test
