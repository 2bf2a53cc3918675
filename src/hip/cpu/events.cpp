// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "hip/cpu/accounting.hpp"
#include "hip/cpu/calls.hpp"
#include "hip/cpu/devices.hpp"
#include "hip/cpu/entry.hpp"
#include "hip/cpu/handles.hpp"
#include "hip/cpu/submission.hpp"

namespace hiptool::hip::cpu {
namespace {

using Clock = std::chrono::steady_clock;

/// One recording. The worker writes the time before the ticket is done; others read it after.
struct Record {
  Ticket ticket;
  std::shared_ptr<Clock::time_point> time = std::make_shared<Clock::time_point>();
};

class Event {
 public:
  Event(int device, unsigned flags) : device_(device), flags_(flags) {}

  int device() const { return device_; }
  bool has_timing() const { return (flags_ & hipEventDisableTiming) == 0; }

  /// The newest recording, null before the first.
  std::shared_ptr<const Record> newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }

  hipError_t record(const std::shared_ptr<Queue>& queue) {
    auto record = std::make_shared<Record>();
    const std::lock_guard lock(mutex_);  // the newest recording is the one submitted last
    const hipError_t error = submit(
        queue, [time = record->time] { *time = Clock::now(); }, &record->ticket);
    if (error == hipSuccess) newest_ = std::move(record);
    return error;
  }

 private:
  const int device_;
  const unsigned flags_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Record> newest_;
};

using Events = Handles<hipEvent_t, Event>;

Events& events() {
  static auto* const instance = new Events;
  return *instance;
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  constexpr unsigned fence_flags = 0xe0000000;  // AMD's cache fences mean nothing here
  constexpr unsigned known =
      hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess | fence_flags;
  const bool shares_timing =
      (flags & hipEventInterprocess) != 0 && (flags & hipEventDisableTiming) == 0;
  if (event == nullptr || (flags & ~known) != 0 || shares_timing) return hipErrorInvalidValue;
  *event = events().add(std::make_shared<Event>(current_device(), flags));
  return hipSuccess;
}

hipError_t hipEventDestroy(hipEvent_t event) {
  return events().remove(event) != nullptr ? hipSuccess : hipErrorInvalidHandle;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  const auto object = events().find(event);
  const auto queue = find_queue(stream);
  if (object == nullptr || queue == nullptr) return hipErrorInvalidHandle;
  if (object->device() != queue->traits().device) return hipErrorInvalidHandle;
  return object->record(queue);
}

hipError_t hipEventQuery(hipEvent_t event) {
  const auto object = events().find(event);
  if (object == nullptr) return hipErrorInvalidHandle;
  const auto record = object->newest();
  if (record == nullptr) return hipSuccess;
  return record->ticket.done() ? failure_of(record->ticket.queue) : hipErrorNotReady;
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  const auto object = events().find(event);
  if (object == nullptr) return hipErrorInvalidHandle;
  const auto record = object->newest();
  if (record == nullptr) return hipSuccess;
  return record->ticket.wait() ? failure_of(record->ticket.queue) : hipErrorDeinitialized;
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  if (milliseconds == nullptr) return hipErrorInvalidValue;
  const auto first = events().find(start);
  const auto last = events().find(stop);
  if (first == nullptr || last == nullptr) return hipErrorInvalidHandle;
  if (!first->has_timing() || !last->has_timing()) return hipErrorInvalidHandle;
  if (first->device() != last->device()) return hipErrorInvalidHandle;
  const auto from = first->newest();
  const auto to = last->newest();
  if (from == nullptr || to == nullptr) return hipErrorInvalidHandle;
  if (!from->ticket.done() || !to->ticket.done()) return hipErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(*to->time - *from->time).count();
  return hipSuccess;
}

/// The recording that is the newest now is the one to wait for, whatever is recorded later.
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  if (flags != 0) return hipErrorInvalidValue;
  const auto object = events().find(event);
  const auto queue = find_queue(stream);
  if (object == nullptr || queue == nullptr) return hipErrorInvalidHandle;
  const auto record = object->newest();
  if (record == nullptr || record->ticket.done()) return hipSuccess;
  return submit(queue, nullptr, nullptr, record->ticket);
}

}  // namespace

std::size_t live_event_count() { return events().size(); }

void add_event_calls(Api& api) {
  api.hipEventCreateWithFlags = &Entry<&hipEventCreateWithFlags>::call;
  api.hipEventDestroy = &Entry<&hipEventDestroy>::call;
  api.hipEventRecord = &Entry<&hipEventRecord>::call;
  api.hipEventQuery = &Entry<&hipEventQuery>::call;
  api.hipEventSynchronize = &Entry<&hipEventSynchronize>::call;
  api.hipEventElapsedTime = &Entry<&hipEventElapsedTime>::call;
  api.hipStreamWaitEvent = &Entry<&hipStreamWaitEvent>::call;
}

}  // namespace hiptool::hip::cpu
