// SPDX-License-Identifier: MIT
#include "load/transfer/staging_ring.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <thread>

#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "load/workers.hpp"
#include "system/numa.hpp"

namespace hiptool::load {
namespace {

// A thread looks for so long whether a copy is done before it sleeps until then: waking up takes
// about as long as the copy of a slot. Measured on an H200: 0.96 of the link without, 0.99 with it.
constexpr std::chrono::microseconds longest_look{300};

StagingSlot* take_first(std::deque<StagingSlot*>& slots) {
  if (slots.empty()) return nullptr;
  StagingSlot* const slot = slots.front();
  slots.pop_front();
  return slot;
}

}  // namespace

StagingSlot::StagingSlot(const Device& device, PinnedBuffer pinned)
    : memory(std::move(pinned)), copied(device, Event::Kind::ordering, true) {}

StagingRing::StagingRing(const Device& device, std::vector<StreamRef> streams,
                         const Options& options)
    : device_(device),
      streams_(std::move(streams)),
      options_(options),
      slots_(options.slots),
      queued_bytes_(streams_.size(), 0),
      timers_(streams_.size()) {
  for (std::size_t index = 0; index < options.slots; ++index) unmade_.push_back(index);
  if (options.timeline != nullptr) trace_.emplace(*options.timeline, streams_, "copies");
}

StagingRing::~StagingRing() {
  try {
    drain();
  } catch (const std::exception& error) {
    core::state_of(device_).note("load", error.what());
  }
}

std::optional<std::size_t> StagingRing::take_unmade() {
  if (unmade_.empty()) return std::nullopt;
  const std::size_t index = unmade_.front();
  unmade_.pop_front();
  return index;
}

// Without the lock: pinning takes milliseconds.
StagingSlot& StagingRing::make_slot(std::size_t index) {
  std::unique_ptr<StagingSlot> slot;
  try {
    const system::CpuBinding near_device(options_.cpus);
    auto ready = options_.memory ? options_.memory->take(options_.slot_bytes) : std::nullopt;
    slot = std::make_unique<StagingSlot>(
        device_,
        ready ? PinnedBuffer(device_, std::move(*ready))
              : PinnedBuffer(device_, options_.slot_bytes, PinnedBuffer::Method::registered));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    unmade_.push_back(index);
    slot_free_.notify_all();  // whoever waits must try to make one itself
    throw;
  }
  const std::lock_guard lock(mutex_);
  slots_[index] = std::move(slot);
  return *slots_[index];
}

void StagingRing::prepare(std::uint32_t threads, const std::function<void()>& check) {
  run_workers(threads, [&](std::uint32_t, const std::atomic<bool>& stop) {
    while (!stop.load()) {
      check();
      std::optional<std::size_t> index;
      {
        const std::lock_guard lock(mutex_);
        index = take_unmade();
      }
      if (!index) return;
      give_back(make_slot(*index));
    }
  });
}

StagingSlot& StagingRing::acquire() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (StagingSlot* slot = take_first(free_)) return *slot;
    StagingSlot* const oldest = take_first(in_flight_);
    const auto index = take_unmade();
    if (oldest == nullptr && !index) {
      slot_free_.wait(lock);
      continue;
    }
    lock.unlock();
    if (oldest == nullptr) return make_slot(*index);
    // Pinning takes ten times as long as a copy: one slot more is made only where it is needed.
    bool is_enough = true;
    std::exception_ptr failure;
    if (index) {
      try {
        is_enough = oldest->copied.is_done();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      is_enough ? unmade_.push_front(*index) : in_flight_.push_front(oldest);
      lock.unlock();
      slot_free_.notify_all();
    }
    if (!is_enough) return make_slot(*index);
    wait_for(*oldest, failure);
    return *oldest;
  }
}

// The slot is the caller's afterwards; on an exception it is given back first.
void StagingRing::wait_for(StagingSlot& slot, const std::exception_ptr& failure) {
  const auto account = [&] {
    const std::lock_guard lock(mutex_);
    queued_bytes_[slot.stream] -= slot.queued_bytes;
    slot.queued_bytes = 0;
  };
  try {
    if (failure) std::rethrow_exception(failure);
    const auto start = std::chrono::steady_clock::now();
    bool is_done = slot.copied.is_done();
    while (!is_done && std::chrono::steady_clock::now() - start < longest_look) {
      std::this_thread::yield();
      is_done = slot.copied.is_done();
    }
    if (!is_done) slot.copied.synchronize();
  } catch (...) {
    core::settle(streams_[slot.stream]);
    account();
    give_back(slot);
    throw;
  }
  account();
}

std::size_t StagingRing::pick_stream(std::uint64_t size_bytes) {
  const auto least = std::min_element(queued_bytes_.begin(), queued_bytes_.end());
  *least += size_bytes;
  return static_cast<std::size_t>(least - queued_bytes_.begin());
}

void StagingRing::start_timer(std::size_t stream) {
  Timer& timer = timers_[stream];
  if (timer.started) return;
  if (!timer.start) timer.start.emplace(device_);
  timer.start->record(streams_[stream]);
  timer.started = true;
  if (!first_stream_) first_stream_ = stream;
}

void StagingRing::submit(StagingSlot& slot, const Buffer& destination, std::size_t size_bytes,
                         const std::function<void(const Event& copied)>& on_queued) {
  bool queued = false;
  try {
    {
      const std::lock_guard lock(mutex_);
      slot.stream = pick_stream(size_bytes);
      slot.queued_bytes = size_bytes;
      start_timer(slot.stream);
    }
    std::size_t piece = 0;
    if (trace_) piece = trace_->begin(slot.stream, "copy", size_bytes);
    copy_h2d(destination, slot.memory.bytes().first(size_bytes), streams_[slot.stream]);
    queued = true;
    if (trace_) trace_->end(piece);
    slot.copied.record(streams_[slot.stream]);
    if (on_queued) on_queued(slot.copied);
  } catch (...) {
    // Without its event nobody knows when the copy is done, so the stream is waited for here.
    if (queued) core::settle(streams_[slot.stream]);
    {
      const std::lock_guard lock(mutex_);
      queued_bytes_[slot.stream] -= slot.queued_bytes;
      slot.queued_bytes = 0;
    }
    give_back(slot);
    throw;
  }
  {
    const std::lock_guard lock(mutex_);
    in_flight_.push_back(&slot);
  }
  slot_free_.notify_all();
}

void StagingRing::give_back(StagingSlot& slot) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_front(&slot);  // the one used last may still be in a cache
  }
  slot_free_.notify_all();
}

void StagingRing::drain() {
  std::exception_ptr failure;
  for (;;) {
    StagingSlot* slot = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (in_flight_.empty()) break;
      // The last first: when it is done, so are nearly all others, without a wait for each.
      slot = in_flight_.back();
      in_flight_.pop_back();
    }
    try {
      wait_for(*slot);
      give_back(*slot);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (trace_) trace_->finish();
}

void StagingRing::reset_timer() {
  const std::lock_guard lock(mutex_);
  for (Timer& timer : timers_) timer.started = false;
  first_stream_.reset();
}

double StagingRing::copy_time_s() {
  const std::lock_guard lock(mutex_);
  if (!first_stream_) return 0;
  double longest_s = 0;
  for (std::size_t i = 0; i < timers_.size(); ++i) {
    Timer& timer = timers_[i];
    if (!timer.started) continue;
    if (!timer.stop) timer.stop.emplace(device_);
    timer.stop->record(streams_[i]);
    timer.stop->synchronize();
    longest_s = std::max(longest_s, timer.stop->elapsed_s(*timers_[*first_stream_].start));
  }
  return longest_s;
}

}  // namespace hiptool::load
