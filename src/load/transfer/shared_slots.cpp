// SPDX-License-Identifier: MIT
#include "load/transfer/shared_slots.hpp"

#include <chrono>
#include <thread>

namespace hiptool::load {
namespace {

// While copies set the pace a reader waits for microseconds, less than a thread needs to wake up.
class Wait {
 public:
  void step() {
    if (++steps_ < most_yields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // readers wait for a disk
    }
  }

 private:
  static constexpr int most_yields = 10'000;
  int steps_ = 0;
};

}  // namespace

SharedSlots::SharedSlots(StagingRing& ring, std::size_t chunks, std::uint32_t parts)
    : ring_(ring), parts_(parts), chunks_(chunks) {}

StagingSlot* SharedSlots::enter(
    std::size_t chunk, std::size_t owner,
    const std::function<void(std::span<const std::byte> slot)>& before_fill) {
  Chunk& own = chunks_[chunk];
  const bool is_first = !own.is_taken.exchange(true);
  for (Wait wait; !has_failed_.load(); wait.step()) {
    if (!is_first) {
      if (StagingSlot* const slot = own.slot.load()) return slot;
      continue;
    }
    StagingSlot* const slot = ring_.try_acquire(owner);
    if (slot == nullptr) continue;
    try {
      before_fill(slot->memory);
    } catch (...) {
      ring_.give_back(*slot);
      throw;
    }
    own.slot.store(slot);
    return slot;
  }
  return nullptr;
}

StagingSlot* SharedSlots::leave(std::size_t chunk) noexcept {
  Chunk& own = chunks_[chunk];
  return own.filled.fetch_add(1) + 1 == parts_ ? own.slot.exchange(nullptr) : nullptr;
}

void SharedSlots::give_back_unsent() noexcept {
  for (Chunk& chunk : chunks_) {
    if (StagingSlot* const slot = chunk.slot.exchange(nullptr)) ring_.give_back(*slot);
  }
}

}  // namespace hiptool::load
