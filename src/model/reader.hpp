// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace hiptool::model {

/// A cursor over a file that reads ahead with pread: a first small window that doubles while the
/// reading goes on, up to 4 MiB. Skipping costs nothing. Callers ask has() and give their own
/// message; every access is checked once more here.
class Reader {
 public:
  explicit Reader(const base::File& file) : file_(file) {}

  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t remaining() const noexcept { return file_.size_bytes() - position_; }
  bool has(std::uint64_t size_bytes) const noexcept { return size_bytes <= remaining(); }

  /// Bytes at the position without moving it; valid until the next call.
  const std::byte* peek(std::size_t size_bytes) {
    const std::uint64_t start = position_ - window_offset_;
    if (start > window_.size() || size_bytes > window_.size() - start) {
      load(size_bytes);
      return window_.data();
    }
    return window_.data() + start;
  }

  /// A little-endian number. (Byte swapping is not needed: all hosts built for are little-endian.)
  template <typename Number>
  Number take() {
    Number number;
    std::memcpy(&number, peek(sizeof number), sizeof number);
    position_ += sizeof number;
    return number;
  }

  std::string take_text(std::uint64_t size_bytes);
  void skip(std::uint64_t size_bytes);

 private:
  void load(std::size_t size_bytes);

  const base::File& file_;
  std::uint64_t position_ = 0;       // never beyond the file's end
  std::uint64_t window_offset_ = 0;  // of window_[0] in the file
  std::vector<std::byte> window_;
  std::size_t step_bytes_ = std::size_t{128} << 10;
};

}  // namespace hiptool::model
