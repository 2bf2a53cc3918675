// SPDX-License-Identifier: MIT
#include "load/read/cached_extents.hpp"

#include <algorithm>

#include "system/residency.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t least_granule_bytes = 256u << 10;
constexpr std::uint64_t most_granule_bytes = 4u << 20;  // the largest slot of a loader's own choice

}  // namespace

CachedExtents::CachedExtents(int descriptor, std::uint64_t size_bytes)
    : size_bytes_(size_bytes), cached_bytes_(size_bytes) {
  const auto estimate = system::estimate_cached_bytes(descriptor, 0, size_bytes);
  if (!estimate || *estimate >= size_bytes) return;
  cached_bytes_ = 0;
  granule_bytes_ = std::clamp(size_bytes / 1024, least_granule_bytes, most_granule_bytes);
  for (std::uint64_t begin = 0; begin < size_bytes; begin += granule_bytes_) {
    const std::uint64_t length = std::min(granule_bytes_, size_bytes - begin);
    const auto cached = system::estimate_cached_bytes(descriptor, begin, length);
    const bool is_cached = !cached || *cached * 2 >= length;
    granules_.push_back(is_cached);
    if (is_cached) cached_bytes_ += length;
  }
}

std::uint64_t CachedExtents::cached_in(std::uint64_t begin, std::uint64_t end) const noexcept {
  std::uint64_t cached = 0;
  while (begin < end) {
    const std::uint64_t granule = begin / granule_bytes_;
    if (granule >= granules_.size()) break;
    const std::uint64_t next = std::min(end, (granule + 1) * granule_bytes_);
    if (granules_[granule]) cached += next - begin;
    begin = next;
  }
  return cached;
}

bool CachedExtents::holds(const base::ByteRange& range) const noexcept {
  if (granules_.empty()) return cached_bytes_ == size_bytes_;
  return cached_in(range.offset, range.end()) * 2 >= range.size_bytes;
}

}  // namespace hiptool::load
