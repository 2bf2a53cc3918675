// SPDX-License-Identifier: MIT
#include "load/staging_ring.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"

namespace hiptool::load {

StagingSlot::StagingSlot(const Device& device, std::size_t size_bytes)
    : memory(device, size_bytes, PinnedBuffer::Method::registered),
      copied(device, Event::Kind::ordering, true) {}

StagingRing::StagingRing(const Device& device, std::vector<StreamRef> streams, std::size_t slots,
                         std::size_t slot_bytes)
    : device_(device),
      streams_(std::move(streams)),
      slot_limit_(slots),
      slot_bytes_(slot_bytes),
      queued_bytes_(streams_.size(), 0),
      timers_(streams_.size()) {}

StagingRing::~StagingRing() {
  try {
    drain();
  } catch (const std::exception& error) {
    device_.state().note("load", error.what());
  }
}

StagingSlot& StagingRing::acquire() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!free_.empty()) {
      StagingSlot& slot = *free_.back();
      free_.pop_back();
      return slot;
    }
    if (slots_.size() + creating_ < slot_limit_) {
      ++creating_;
      lock.unlock();
      std::unique_ptr<StagingSlot> slot;
      try {
        slot = std::make_unique<StagingSlot>(device_, slot_bytes_);
      } catch (...) {
        lock.lock();
        --creating_;
        slot_free_.notify_all();  // whoever waits must try to make one itself
        throw;
      }
      lock.lock();
      --creating_;
      slots_.push_back(std::move(slot));
      return *slots_.back();
    }
    if (!in_flight_.empty()) {
      StagingSlot& slot = *in_flight_.front();
      in_flight_.pop_front();
      lock.unlock();
      wait_for(slot);
      return slot;
    }
    slot_free_.wait(lock);
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
    copy_h2d(destination, slot.memory.bytes().first(size_bytes), streams_[slot.stream]);
    queued = true;
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
  slot_free_.notify_one();
}

void StagingRing::give_back(StagingSlot& slot) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(&slot);
  }
  slot_free_.notify_one();
}

void StagingRing::drain() {
  std::exception_ptr failure;
  for (;;) {
    StagingSlot* slot = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (in_flight_.empty()) break;
      slot = in_flight_.front();
      in_flight_.pop_front();
    }
    try {
      wait_for(*slot);
      give_back(*slot);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
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

double StagingRing::probe(const Buffer& destination, std::uint64_t size_bytes) {
  const std::size_t piece = std::min(slot_bytes_, destination.size_bytes());
  if (piece == 0) return 0;
  std::vector<StagingSlot*> slots;
  const auto give_all_back = [&] {
    for (StagingSlot* slot : slots) give_back(*slot);
    slots.clear();
  };
  try {
    while (slots.size() < slot_limit_) slots.push_back(&acquire());
    const std::uint64_t places = destination.size_bytes() / piece;
    reset_timer();
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; done < size_bytes; ++i, done += piece) {
      const std::size_t stream = i % streams_.size();
      {
        const std::lock_guard lock(mutex_);
        start_timer(stream);
      }
      copy_h2d(destination.view(i % places * piece, piece),
               slots[i % slots.size()]->memory.bytes().first(piece), streams_[stream]);
    }
    const double elapsed_s = copy_time_s();
    give_all_back();
    return elapsed_s > 0 ? static_cast<double>(done) / elapsed_s : 0;
  } catch (...) {
    for (const StreamRef& stream : streams_) core::settle(stream);
    give_all_back();
    throw;
  }
}

}  // namespace hiptool::load
