// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "hiptool/pinned_buffer.hpp"

namespace hiptool::load {

/// Host memory for the staging slots of a loader that is still to come: a thread touches it while a
/// driver starts, so that only the registering is left for the load.
class StagingMemory {
 public:
  /// Starts at once; does not block.
  StagingMemory(std::uint32_t slots, std::size_t slot_bytes);
  /// Ends the thread after the slot it is at; frees what nobody took.
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

  /// Memory of that size if there is some now; never waits. From any thread.
  std::optional<HostMemory> take(std::size_t size_bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool::load
