// SPDX-License-Identifier: MIT
#include "load/transfer/staging_ring.hpp"

#include <algorithm>

#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "system/numa.hpp"

namespace hiptool::load {
namespace {

StagingSlot* take_first(std::deque<StagingSlot*>& slots) {
  if (slots.empty()) return nullptr;
  StagingSlot* const slot = slots.front();
  slots.pop_front();
  return slot;
}

}  // namespace

StagingRing::StagingRing(const Device& device, std::vector<StreamRef> streams,
                         const Options& options)
    : device_(device),
      streams_(std::move(streams)),
      options_(options),
      owners_(options.owners),
      queued_bytes_(streams_.size(), 0),
      timers_(streams_.size()) {
  if (options.timeline != nullptr) trace_.emplace(*options.timeline, streams_, "copies");
}

StagingRing::~StagingRing() {
  try {
    drain();
  } catch (const std::exception& error) {
    core::state_of(device_).note("load", error.what());
  }
}

void StagingRing::prepare() {
  const std::lock_guard lock(preparing_);
  if (is_prepared_.load()) return;
  const system::CpuBinding near_device(options_.cpus);
  const std::size_t size_bytes = slot_count() * options_.slot_bytes;
  auto ready = options_.memory ? options_.memory->take(size_bytes) : std::nullopt;
  pinned_.emplace(ready ? PinnedBuffer(device_, std::move(*ready))
                        : PinnedBuffer(device_, HostMemory(size_bytes, touching_threads)));
  slots_.clear();
  slots_.reserve(slot_count());
  for (std::size_t i = 0; i < slot_count(); ++i) {
    const auto memory = pinned_->bytes().subspan(i * options_.slot_bytes, options_.slot_bytes);
    // An event that interrupts the host when it is reached (blocking) holds up the next copy: 0.92
    // of the link instead of 0.96 with copies of 4 MiB on an H200.
    slots_.push_back({memory, Event(device_, Event::Kind::ordering), i / options_.slots});
  }
  const std::lock_guard slots_lock(mutex_);
  for (StagingSlot& slot : slots_) owners_[slot.owner].free.push_back(&slot);
  is_prepared_.store(true);
}

StagingSlot* StagingRing::try_acquire(std::size_t owner) {
  if (!is_prepared_.load()) prepare();
  Owner& own = owners_[owner % owners_.size()];
  std::unique_lock lock(mutex_);
  if (StagingSlot* slot = take_first(own.free)) return slot;
  StagingSlot* const slot = take_first(own.in_flight);
  lock.unlock();
  if (slot != nullptr) wait_for(*slot);
  return slot;
}

StagingSlot& StagingRing::acquire(std::size_t owner) {
  for (;;) {
    if (StagingSlot* const slot = try_acquire(owner)) return *slot;
    const Owner& own = owners_[owner % owners_.size()];
    std::unique_lock lock(mutex_);
    slot_free_.wait(lock, [&] { return !own.free.empty() || !own.in_flight.empty(); });
  }
}

// The slot is the caller's afterwards; on an exception it is given back first.
void StagingRing::wait_for(StagingSlot& slot) {
  const auto account = [&] {
    const std::lock_guard lock(mutex_);
    queued_bytes_[slot.stream] -= slot.queued_bytes;
    slot.queued_bytes = 0;
  };
  try {
    slot.copied.synchronize();
  } catch (...) {
    core::settle(streams_[slot.stream]);
    account();
    give_back(slot);
    throw;
  }
  account();
}

std::size_t StagingRing::pick_stream(std::uint64_t size_bytes) {
  const auto least = std::ranges::min_element(queued_bytes_);
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

void StagingRing::submit(StagingSlot& slot, Buffer& destination, std::size_t size_bytes,
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
    copy_h2d(destination, slot.memory.first(size_bytes), streams_[slot.stream]);
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
    owners_[slot.owner].in_flight.push_back(&slot);
  }
  slot_free_.notify_all();
}

void StagingRing::give_back(StagingSlot& slot) noexcept {
  {
    const std::lock_guard lock(mutex_);
    owners_[slot.owner].free.push_front(&slot);  // the one used last may still be in a cache
  }
  slot_free_.notify_all();
}

void StagingRing::drain() {
  std::exception_ptr failure;
  for (Owner& owner : owners_) {
    for (;;) {
      StagingSlot* slot = nullptr;
      {
        const std::lock_guard lock(mutex_);
        slot = take_first(owner.in_flight);
      }
      if (slot == nullptr) break;
      try {
        wait_for(*slot);
        give_back(*slot);
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
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
