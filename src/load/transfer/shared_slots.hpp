// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "load/transfer/staging_ring.hpp"

namespace hiptool::load {

/// The slots of a ring that get the chunks of a load, each filled in parts by any readers. All
/// members but give_back_unsent() may be called from many threads.
class SharedSlots {
 public:
  /// The ring must outlive this object and is used by nobody else meanwhile.
  SharedSlots(StagingRing& ring, std::size_t chunks, std::uint32_t parts);

  /// The chunk's slot, for a reader that will fill a part of it. The first reader takes a slot of
  /// that owner and calls `before_fill`; the others wait for it. Blocks. Null once a reader failed.
  StagingSlot* enter(std::size_t chunk, std::size_t owner,
                     const std::function<void(std::span<const std::byte> slot)>& before_fill);

  /// A part is filled. The slot, to submit or to give back, for the last part of the chunk, else
  /// null.
  StagingSlot* leave(std::size_t chunk) noexcept;

  /// Readers that wait for a slot return; no chunk gets another one.
  void fail() noexcept { has_failed_.store(true); }

  /// Gives back the slots of chunks that were not filled. Once no reader runs any more.
  void give_back_unsent() noexcept;

 private:
  struct Chunk {
    std::atomic<StagingSlot*> slot{nullptr};
    std::atomic<std::uint32_t> filled{0};  // parts
    std::atomic<bool> is_taken{false};     // a reader waits for a slot, or the chunk has one
  };

  StagingRing& ring_;
  std::uint32_t parts_;
  std::vector<Chunk> chunks_;
  std::atomic<bool> has_failed_{false};
};

}  // namespace hiptool::load
