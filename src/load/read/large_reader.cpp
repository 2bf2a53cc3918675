// SPDX-License-Identifier: MIT
#include "load/read/large_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

namespace hiptool::load {

/// Keeps a block's place while its bytes are used.
class LargeReader::Use {
 public:
  Use(LargeReader& reader, int descriptor, std::uint64_t offset)
      : reader_(reader), block_(reader.enter(descriptor, offset, shall_read_)) {}
  ~Use() { reader_.leave(block_, taken_bytes_); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  const Block& wait(const std::function<void()>& check) {
    if (shall_read_) {
      reader_.fill(block_, check);
    } else {
      std::unique_lock lock(reader_.mutex_);
      reader_.changed_.wait(lock, [&] { return block_.is_read; });
    }
    return block_;
  }
  void take(std::uint64_t size_bytes) { taken_bytes_ = size_bytes; }

 private:
  LargeReader& reader_;
  bool shall_read_ = false;
  Block& block_;
  std::uint64_t taken_bytes_ = 0;
};

LargeReader::LargeReader(std::uint64_t block_bytes, std::uint32_t blocks)
    : block_bytes_(block_bytes), blocks_(blocks) {}

const LargeReader::Block* LargeReader::find(int descriptor, std::uint64_t offset) const {
  const auto found = std::ranges::find_if(blocks_, [&](const Block& block) {
    return block.memory && !block.is_given_up && block.descriptor == descriptor &&
           block.offset == offset;
  });
  return found == blocks_.end() ? nullptr : &*found;
}

LargeReader::Block* LargeReader::choose_place() {
  const auto rank = [](const Block& block) {
    const bool is_done =
        block.is_given_up || (block.memory && block.taken_bytes >= block.size_bytes);
    return std::tuple(!is_done, block.memory.has_value(), block.last_use);
  };
  Block* best = nullptr;
  for (Block& block : blocks_) {
    if (block.users == 0 && (best == nullptr || rank(block) < rank(*best))) best = &block;
  }
  return best;
}

LargeReader::Block& LargeReader::enter(int descriptor, std::uint64_t offset, bool& shall_read) {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto* block = const_cast<Block*>(find(descriptor, offset));
    shall_read = block == nullptr;
    if (shall_read) block = choose_place();
    if (block == nullptr) {
      changed_.wait(lock);
      continue;
    }
    if (shall_read) {
      if (!block->memory) block->memory.emplace(block_bytes_);
      block->descriptor = descriptor;
      block->offset = offset;
      block->is_read = false;
      block->is_given_up = false;
      block->taken_bytes = 0;
    }
    ++block->users;
    block->last_use = ++uses_;
    return *block;
  }
}

void LargeReader::fill(Block& block, const std::function<void()>& check) {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = tickets_++;
  changed_.wait(lock, [&] { return served_ == ticket; });
  lock.unlock();
  const auto publish = [&](std::uint64_t size_bytes, int error, bool is_given_up) {
    lock.lock();
    block.size_bytes = size_bytes;
    block.error = error;
    block.is_given_up = is_given_up;
    block.is_read = true;
    ++served_;
    changed_.notify_all();
  };
  try {
    check();
  } catch (...) {
    publish(0, 0, true);
    throw;
  }
  std::uint64_t done = 0;
  int error = 0;
  while (done < block_bytes_) {
    const ssize_t got = ::pread(block.descriptor, block.memory->data() + done, block_bytes_ - done,
                                static_cast<off_t>(block.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    done += static_cast<std::uint64_t>(got);
    // A short read that ends inside a block of the disk is the end of the file.
    if (done % 512 != 0) break;
  }
  publish(done, error, false);
}

void LargeReader::leave(Block& block, std::uint64_t taken_bytes) {
  const std::lock_guard lock(mutex_);
  block.taken_bytes += taken_bytes;
  if (--block.users == 0) changed_.notify_all();
}

DirectResult LargeReader::read(const Range& range, const Take& take,
                               const std::function<void()>& check) {
  for (std::uint64_t at = range.bytes.offset; at < range.wanted_end;) {
    check();
    Use use(*this, range.descriptor, at / block_bytes_ * block_bytes_);
    const Block& block = use.wait(check);
    if (block.is_given_up) continue;
    const std::uint64_t end = std::min(block.offset + block.size_bytes, range.bytes.end());
    if (at >= end) return {block.error, at, false};
    take(at, {block.memory->data() + (at - block.offset), end - at});
    use.take(end - at);
    at = end;
  }
  return {0, range.wanted_end, true};
}

}  // namespace hiptool::load
