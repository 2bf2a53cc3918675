// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/stream.hpp"

namespace hiptool::kernel_store {

class KernelLoader;

/// Contiguous bytes of a buffer that are digested on their own, such as a tensor: its blocks are
/// pieces of 16 KiB from its start, the last one shorter; an empty one has none.
struct DigestRange {
  std::uint64_t device_offset = 0;  ///< in the buffer
  std::uint64_t size_bytes = 0;
};

/// The ranges of one buffer, as the kernel looks them up. Blocks are numbered through all ranges in
/// the order in which these are given, from 0.
class DigestTable {
 public:
  /// Brings the table to the device; blocks. Ranges may have any alignment; where all are at
  /// multiples of 16 bytes the kernel reads fastest. Throws Error(out_of_bounds) for a range that
  /// leaves the buffer.
  DigestTable(const Buffer& data, std::span<const DigestRange> ranges);

  std::uint64_t block_count() const noexcept { return block_count_; }

 private:
  friend class BlockDigester;
  // As kernels/digest.hip has it.
  struct Entry {
    std::uint64_t device_offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t first_block = 0;
  };

  Buffer data_;
  std::vector<Entry> entries_;  // none is empty
  Buffer on_device_;
  std::uint64_t block_count_ = 0;
  std::uint32_t alignment_ = 0;
};

/// Computes digests of blocks (XXH3-64, seed 0) on a device. Loads its kernel once.
class BlockDigester {
 public:
  /// Throws Error(unsupported) where there is neither an image nor a run-time compiler for the
  /// loader's device; the message says which.
  explicit BlockDigester(KernelLoader& loader);

  /// Queues the digests of the blocks [first_block, end_block) with one launch, however many ranges
  /// they belong to: the digest of block i goes to digests[i] (u64). Does not block; table, data
  /// and digests must live until it is done. Throws Error(out_of_bounds) for blocks that the table
  /// or the list does not have.
  void digest(const DigestTable& table, std::uint64_t first_block, std::uint64_t end_block,
              const Buffer& digests, const StreamRef& stream);

  /// The image in use: "sm_90", "sm_60", "gfx90a", "cpu", or "compiled for sm_90".
  const std::string& image() const noexcept { return image_; }

 private:
  Kernel kernel_;
  std::string image_;
  std::uint64_t most_thread_blocks_;
};

}  // namespace hiptool::kernel_store
