// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "base/byte_range.hpp"

namespace hiptool::load {

/// Which parts of a file were in the page cache when the load began. Later the kernel's read-ahead
/// makes what follows each cached part look cached too, one part after the other.
class CachedExtents {
 public:
  /// Of an open file; samples it and reads nothing. Unknown residency counts as cached: a wrong
  /// guess costs a factor of two there and of ten otherwise.
  CachedExtents(int descriptor, std::uint64_t size_bytes);

  /// Whether at least half of the range was cached.
  bool holds(const base::ByteRange& range) const noexcept;

  std::uint64_t cached_bytes() const noexcept { return cached_bytes_; }

 private:
  std::uint64_t cached_in(std::uint64_t begin, std::uint64_t end) const noexcept;

  std::uint64_t size_bytes_;
  std::uint64_t granule_bytes_ = 0;
  std::uint64_t cached_bytes_ = 0;
  std::vector<bool> granules_;  // empty: all of the file or nothing
};

}  // namespace hiptool::load
