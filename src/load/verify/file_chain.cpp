// SPDX-License-Identifier: MIT
#include "load/verify/file_chain.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "load/verify/digest.hpp"

namespace hiptool::load {

FileChain::FileChain(std::vector<Tensor> tensors, std::uint64_t size_bytes,
                     std::uint64_t read_bytes)
    : tensors_(std::move(tensors)),
      size_bytes_(size_bytes),
      read_bytes_(read_bytes),
      buffer_(block_bytes + read_bytes) {
  std::ranges::stable_sort(tensors_, [](const Tensor& left, const Tensor& right) {
    return left.bytes.offset < right.bytes.offset;
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
  open_tensors(offset_);
  digest_blocks(window, begin, digests);
  // The rest of the file is needed from the first block on that is not complete.
  std::uint64_t needed = offset_;
  for (const Tensor& tensor : open_) needed = std::min(needed, tensor.bytes.offset);
  kept_bytes_ = offset_ - needed;
  std::memmove(buffer_.data() + block_bytes - kept_bytes_, window.data() + (needed - begin),
               kept_bytes_);
  return size_bytes;
}

void FileChain::open_tensors(std::uint64_t end) {
  for (; next_tensor_ < tensors_.size(); ++next_tensor_) {
    const Tensor& tensor = tensors_[next_tensor_];
    if (tensor.bytes.offset >= end) return;
    if (tensor.bytes.size_bytes > 0) open_.push_back(tensor);
  }
}

void FileChain::digest_blocks(std::span<const std::byte> window, std::uint64_t begin,
                              std::span<std::uint64_t> digests) {
  const std::uint64_t end = begin + window.size();
  for (auto& [bytes, block] : open_) {
    while (bytes.size_bytes > 0) {
      const std::uint64_t size_bytes = std::min(block_bytes, bytes.size_bytes);
      if (bytes.offset + size_bytes > end) break;
      digests[block++] = block_digest(window.subspan(bytes.offset - begin, size_bytes));
      bytes = {bytes.offset + size_bytes, bytes.size_bytes - size_bytes};
    }
  }
  std::erase_if(open_, [](const Tensor& tensor) { return tensor.bytes.size_bytes == 0; });
}

std::string FileChain::sha256() { return hasher_.hex_digest(); }

}  // namespace hiptool::load
