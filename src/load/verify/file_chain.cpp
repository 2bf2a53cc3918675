// SPDX-License-Identifier: MIT
#include "load/verify/file_chain.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "load/verify/readback.hpp"
#include "load/verify/digest.hpp"

namespace hiptool::load {

FileChain::FileChain(std::vector<Range> ranges, std::uint64_t size_bytes, std::uint64_t read_bytes)
    : ranges_(std::move(ranges)),
      size_bytes_(size_bytes),
      read_bytes_(read_bytes),
      buffer_(block_bytes + read_bytes) {
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& left, const Range& right) {
    return left.file_offset < right.file_offset;
  });
}

std::uint64_t FileChain::read_next(const base::File& file, std::span<std::uint64_t> digests) {
  const std::uint64_t size_bytes = std::min(read_bytes_, size_bytes_ - offset_);
  if (size_bytes == 0) return 0;
  const auto fresh = std::span(buffer_).subspan(block_bytes, size_bytes);
  file.read_at(fresh, offset_);
  hasher_.add(fresh);
  const std::uint64_t begin = offset_ - kept_bytes_;
  offset_ += size_bytes;
  const auto window = std::span(buffer_).subspan(block_bytes - kept_bytes_, offset_ - begin);
  open_ranges(offset_);
  digest_blocks(window, begin, digests);
  // The rest of the file is needed from the first block on that is not complete.
  std::uint64_t needed = offset_;
  for (const Open& range : open_) needed = std::min(needed, range.next);
  kept_bytes_ = offset_ - needed;
  std::memmove(buffer_.data() + block_bytes - kept_bytes_, window.data() + (needed - begin),
               kept_bytes_);
  return size_bytes;
}

void FileChain::open_ranges(std::uint64_t end) {
  for (; next_range_ < ranges_.size() && ranges_[next_range_].file_offset < end; ++next_range_) {
    const Range& range = ranges_[next_range_];
    if (range.size_bytes == 0) continue;
    open_.push_back({range.file_offset, range.file_offset + range.size_bytes, range.first_block});
  }
}

void FileChain::digest_blocks(std::span<const std::byte> window, std::uint64_t begin,
                              std::span<std::uint64_t> digests) {
  const std::uint64_t end = begin + window.size();
  for (Open& range : open_) {
    while (range.next < range.end) {
      const std::uint64_t size_bytes = std::min(block_bytes, range.end - range.next);
      if (range.next + size_bytes > end) break;
      digests[range.block++] = block_digest(window.subspan(range.next - begin, size_bytes));
      range.next += size_bytes;
    }
  }
  open_.erase(std::remove_if(open_.begin(), open_.end(),
                             [](const Open& range) { return range.next == range.end; }),
              open_.end());
}

std::string FileChain::sha256() { return hasher_.hex_digest(); }

}  // namespace hiptool::load
