// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
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
#include "load/stream_trace.hpp"
#include "load/transfer/staging_memory.hpp"

namespace hiptool::load {

/// A part of the ring's pinned memory and the event that reports when its last copy is done.
struct StagingSlot {
  std::span<std::byte> memory;
  Event copied;
  std::size_t owner = 0;
  std::uint64_t queued_bytes = 0;  ///< of the copy in flight
  std::size_t stream = 0;          ///< on which it is
};

/// Pinned slots that threads fill and queue to the device. Each owner, usually one thread, has
/// slots of its own: it fills the same few MiB again and again, which stay in its core's cache. The
/// memory is registered at once, by prepare() or the first acquire(). All members may be called
/// from many threads.
class StagingRing {
 public:
  struct Options {
    std::size_t owners = 1;
    std::size_t slots = 2;  ///< of each owner
    std::size_t slot_bytes = 4u << 20;
    std::vector<int> cpus;         ///< near which the slots' memory shall be; empty: anywhere
    Timeline* timeline = nullptr;  ///< gets a track for each stream
    std::shared_ptr<StagingMemory> memory;  ///< that was touched before, if there is any
  };

  StagingRing(const Device& device, std::vector<StreamRef> streams, const Options& options);
  /// Waits for the copies in flight; failures go to the trace.
  ~StagingRing();

  std::size_t slot_bytes() const noexcept { return options_.slot_bytes; }
  std::size_t slot_count() const noexcept { return options_.owners * options_.slots; }
  /// The memory of all slots; empty before it is pinned.
  std::span<std::byte> memory() noexcept {
    return pinned_ ? pinned_->bytes() : std::span<std::byte>();
  }

  /// Pins the slots unless they are pinned already. Blocks while memory is touched and registered:
  /// 15 ms for 64 MiB, 2 ms of memory that was touched before (one H200 machine).
  void prepare();

  /// A slot of that owner that may be written. Blocks while all of them are in flight or in other
  /// hands.
  StagingSlot& acquire(std::size_t owner = 0);

  /// The same, but null where acquire() would wait for another thread.
  StagingSlot* try_acquire(std::size_t owner = 0);

  /// Queues the slot's first bytes to the destination on the stream with the least bytes queued,
  /// and returns at once. The slot comes back when the copy is done; on an exception at once.
  /// `on_queued` is called once the slot's event is recorded after the copy, before the slot may be
  /// taken by another thread.
  void submit(StagingSlot& slot, Buffer& destination, std::size_t size_bytes,
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
  struct Owner {
    std::deque<StagingSlot*> free;
    std::deque<StagingSlot*> in_flight;
  };

  void wait_for(StagingSlot& slot);
  std::size_t pick_stream(std::uint64_t size_bytes);
  void start_timer(std::size_t stream);

  Device device_;
  std::vector<StreamRef> streams_;
  Options options_;

  std::mutex preparing_;
  std::atomic<bool> is_prepared_{false};
  std::optional<PinnedBuffer> pinned_;
  std::vector<StagingSlot> slots_;

  std::mutex mutex_;
  std::condition_variable slot_free_;
  std::vector<Owner> owners_;
  std::vector<std::uint64_t> queued_bytes_;
  std::vector<Timer> timers_;
  std::optional<std::size_t> first_stream_;
  std::optional<StreamTrace> trace_;
};

}  // namespace hiptool::load
