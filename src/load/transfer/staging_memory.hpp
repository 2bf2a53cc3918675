// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "hiptool/pinned_buffer.hpp"

namespace hiptool::load {

/// Threads that touch memory that a load waits for: 128 MiB in 26 ms by one thread of an H200
/// machine, in 8 ms by four.
inline constexpr std::uint32_t touching_threads = 4;

/// Host memory for the staging rings of a load that is still to come: a thread touches it while a
/// driver starts, so that only the registering is left for the load. It begins 30 ms later, or when
/// the load asks for a block, and then with more threads.
class StagingMemory {
 public:
  /// Starts the thread; does not block.
  StagingMemory(std::uint32_t blocks, std::size_t block_bytes);
  /// Ends the thread after the block it is at; frees the blocks that nobody took.
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  /// A block of at least that size, none once all are taken or failed. Blocks while one is being
  /// touched. From any thread.
  std::optional<HostMemory> take(std::size_t size_bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool::load
