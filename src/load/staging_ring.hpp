// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "hiptool/buffer.hpp"
#include "hiptool/device.hpp"
#include "hiptool/event.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "hiptool/stream.hpp"

namespace hiptool::load {

/// One pinned slot and the event that says when its last copy is done.
struct StagingSlot {
  StagingSlot(const Device& device, std::size_t size_bytes);

  PinnedBuffer memory;
  Event copied;
  std::uint64_t queued_bytes = 0;  ///< of the copy in flight
  std::size_t stream = 0;          ///< on which it is
};

/// A small ring of pinned slots that threads fill and queue to the device. Slots are pinned when
/// they are first needed, by the thread that needs them, so that pinning overlaps the first reads.
/// All members may be called from many threads.
class StagingRing {
 public:
  StagingRing(const Device& device, std::vector<StreamRef> streams, std::size_t slots,
              std::size_t slot_bytes);
  /// Waits for the copies in flight; failures go to the trace.
  ~StagingRing();

  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  std::size_t slot_count() const noexcept { return slot_limit_; }

  /// A slot that may be written. Blocks while all are in flight or in other hands.
  StagingSlot& acquire();

  /// Queues the slot's first bytes to the destination on the stream with the least bytes queued,
  /// and returns at once. The slot comes back when the copy is done; on an exception at once.
  /// `on_queued` is called once the slot's event stands behind the copy, before the slot may be
  /// taken by another thread.
  void submit(StagingSlot& slot, const Buffer& destination, std::size_t size_bytes,
              const std::function<void(const Event& copied)>& on_queued = {});

  /// Gives a slot back that was not submitted.
  void give_back(StagingSlot& slot) noexcept;

  /// Waits for every copy in flight. Throws the first failure after all were waited for.
  void drain();

  /// Seconds from the first copy since the last reset_timer() to the last one, by device events;
  /// 0 without copies. Call after drain().
  double copy_time_s();
  void reset_timer();

  /// Copies whole slots to the destination without filling them; bytes per second by device events.
  double probe(const Buffer& destination, std::uint64_t size_bytes);

 private:
  struct Timer {
    std::optional<Event> start;
    std::optional<Event> stop;
    bool started = false;
  };

  void wait_for(StagingSlot& slot);
  std::size_t pick_stream(std::uint64_t size_bytes);
  void start_timer(std::size_t stream);

  Device device_;
  std::vector<StreamRef> streams_;
  std::size_t slot_limit_;
  std::size_t slot_bytes_;

  std::mutex mutex_;
  std::condition_variable slot_free_;
  std::vector<std::unique_ptr<StagingSlot>> slots_;
  std::size_t creating_ = 0;
  std::vector<StagingSlot*> free_;
  std::deque<StagingSlot*> in_flight_;
  std::vector<std::uint64_t> queued_bytes_;
  std::vector<Timer> timers_;
  std::optional<std::size_t> first_stream_;
};

}  // namespace hiptool::load
