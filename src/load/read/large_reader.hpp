// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "load/read/direct_reader.hpp"

namespace hiptool::load {

/// Reads blocks of a file, large and one at a time, for all threads that want bytes of them. While
/// one block is read, those who waited for the one before copy from it. Serves many threads.
class LargeReader final : public DirectReader {
 public:
  /// Blocks begin at multiples of `block_bytes`, itself a multiple of what direct reads need. At
  /// most `blocks` have memory, which the first use allocates: Error(host_out_of_memory) then. A
  /// block whose bytes were all taken makes room for another, or else the one unused for longest.
  explicit LargeReader(std::uint64_t block_bytes = std::uint64_t{16} << 20,
                       std::uint32_t blocks = 16);

  DirectResult read(const Range& range, const Take& take,
                    const std::function<void()>& check) override;
  const char* name() const noexcept override { return "pread"; }

 private:
  struct Block {
    int descriptor = -1;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;  // less than a whole block at the end of the file
    int error = 0;
    bool is_read = false;
    bool is_given_up = false;  // whoever was to read it ended before
    std::uint32_t users = 0;
    std::uint64_t taken_bytes = 0;
    std::uint64_t last_use = 0;
    std::optional<BounceBuffer> memory;
  };

  class Use;
  const Block* find(int descriptor, std::uint64_t offset) const;
  Block* choose_place();
  /// The block at the offset, which the caller must read if nobody has begun to. Waits for a place.
  Block& enter(int descriptor, std::uint64_t offset, bool& shall_read);
  void fill(Block& block, const std::function<void()>& check);
  void leave(Block& block, std::uint64_t taken_bytes);

  const std::uint64_t block_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Block> blocks_;
  std::uint64_t uses_ = 0;
  std::uint64_t tickets_ = 0;  // in the order of which blocks are read
  std::uint64_t served_ = 0;
};

}  // namespace hiptool::load
