// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
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
#include "hiptool/timeline.hpp"
#include "load/transfer/staging_memory.hpp"
#include "load/transfer/stream_trace.hpp"

namespace hiptool::load {

/// One pinned slot and the event that says when its last copy is done.
struct StagingSlot {
  StagingSlot(const Device& device, PinnedBuffer pinned);

  PinnedBuffer memory;
  Event copied;
  std::uint64_t queued_bytes = 0;  ///< of the copy in flight
  std::size_t stream = 0;          ///< on which it is
};

/// A small ring of pinned slots that threads fill and queue to the device. Slots are pinned ahead
/// by prepare(), or when they are first needed, by the thread that needs them, so that pinning
/// overlaps the first reads. All members may be called from many threads.
class StagingRing {
 public:
  struct Options {
    std::size_t slots = 2;
    std::size_t slot_bytes = 4u << 20;
    std::vector<int> cpus;         ///< near which the slots' memory shall be; empty: anywhere
    Timeline* timeline = nullptr;  ///< gets a track for each stream
    std::shared_ptr<StagingMemory> memory;  ///< that was touched before, if there is any
  };

  StagingRing(const Device& device, std::vector<StreamRef> streams, const Options& options);
  /// Waits for the copies in flight; failures go to the trace.
  ~StagingRing();

  std::size_t slot_bytes() const noexcept { return options_.slot_bytes; }
  std::size_t slot_count() const noexcept { return options_.slots; }

  /// Pins all slots that are not pinned yet, on that many threads. `check` may throw to end it.
  void prepare(std::uint32_t threads, const std::function<void()>& check);

  /// A slot that may be written. Blocks while all are in flight or in other hands.
  StagingSlot& acquire();

  /// Queues the slot's first bytes to the destination on the stream with the least bytes queued,
  /// and returns at once. The slot comes back when the copy is done; on an exception at once.
  /// `on_queued` is called once the slot's event is recorded after the copy, before the slot may be
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

 private:
  struct Timer {
    std::optional<Event> start;
    std::optional<Event> stop;
    bool started = false;
  };

  StagingSlot& make_slot(std::size_t index);
  std::optional<std::size_t> take_unmade();
  void wait_for(StagingSlot& slot, const std::exception_ptr& failure = {});
  std::size_t pick_stream(std::uint64_t size_bytes);
  void start_timer(std::size_t stream);

  Device device_;
  std::vector<StreamRef> streams_;
  Options options_;

  std::mutex mutex_;
  std::condition_variable slot_free_;
  std::vector<std::unique_ptr<StagingSlot>> slots_;  // null: not made yet
  std::deque<std::size_t> unmade_;                   // that nobody is making either
  std::deque<StagingSlot*> free_;
  std::deque<StagingSlot*> in_flight_;
  std::vector<std::uint64_t> queued_bytes_;
  std::vector<Timer> timers_;
  std::optional<std::size_t> first_stream_;
  std::optional<StreamTrace> trace_;
};

}  // namespace hiptool::load
