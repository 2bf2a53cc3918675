// SPDX-License-Identifier: MIT
#include "hiptool/event.hpp"

#include <utility>

#include "core/call.hpp"

namespace hiptool {
namespace {

using core::call;
using hip::Api;

hip::hipEvent_t native_event(void* event) { return static_cast<hip::hipEvent_t>(event); }

}  // namespace

Event::Event(const Device& device, Kind kind, bool blocking) : device_(device) {
  const DeviceGuard guard(device_);
  const unsigned flags = (kind == Kind::ordering ? hip::hipEventDisableTiming : 0u) |
                         (blocking ? hip::hipEventBlockingSync : 0u);
  hip::hipEvent_t created = nullptr;
  call<&Api::hipEventCreateWithFlags>(device_, {}, &created, flags);
  event_ = created;
}

Event::~Event() { destroy(); }

Event::Event(Event&& other) noexcept
    : device_(other.device_), event_(std::exchange(other.event_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  if (this != &other) {
    destroy();
    device_ = other.device_;
    event_ = std::exchange(other.event_, nullptr);
  }
  return *this;
}

Event Event::take_native(const Device& device, void* event) {
  if (event == nullptr) {
    throw Error(ErrorCode::invalid_argument, "wrap event", "a null event is not accepted");
  }
  return Event(device, event);
}

void* Event::release() noexcept { return std::exchange(event_, nullptr); }

void Event::record(const StreamRef& stream) {
  if (!(stream.device() == device_)) {
    throw Error(ErrorCode::invalid_argument, "hipEventRecord",
                "the event is on " + device_.id() + ", the stream on " + stream.device().id(),
                "create the event on the stream's device");
  }
  const DeviceGuard guard(device_);
  call<&Api::hipEventRecord>(device_, {}, native_event(event_),
                             static_cast<hip::hipStream_t>(stream.native_handle()));
}

void Event::synchronize() const {
  const DeviceGuard guard(device_);
  call<&Api::hipEventSynchronize>(device_, {}, native_event(event_));
}

bool Event::is_done() const {
  const DeviceGuard guard(device_);
  const hip::hipError_t error = core::api_of(device_).hipEventQuery(native_event(event_));
  if (error == hip::hipErrorNotReady) return false;
  if (error != hip::hipSuccess) throw core::call_error(device_, "hipEventQuery", error);
  return true;
}

double Event::elapsed_s(const Event& start) const {
  const DeviceGuard guard(device_);
  float milliseconds = 0;
  call<&Api::hipEventElapsedTime>(device_, {}, &milliseconds, native_event(start.event_),
                                  native_event(event_));
  return static_cast<double>(milliseconds) * 1e-3;
}

void Event::destroy() noexcept {
  if (event_ == nullptr) return;
  const core::QuietDeviceGuard guard(device_);
  core::release<&Api::hipEventDestroy>(device_, native_event(event_));
  event_ = nullptr;
}

KernelTimer::KernelTimer(const StreamRef& stream) : stream_(stream) {
  const Device& device = stream_.device();
  try {
    events_.emplace(EventPair{Event(device), Event(device)});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    core::state_of(device).note(
        "timer", "the host's clock is used instead of events: " + std::string(error.what()));
  }
}

void KernelTimer::start() {
  state_ = State::idle;
  if (events_) {
    events_->start.record(stream_);
  } else {
    stream_.synchronize();
    start_time_ = Clock::now();
  }
  state_ = State::started;
}

void KernelTimer::stop() {
  if (state_ != State::started) {
    throw Error(ErrorCode::invalid_argument, "stop timer", "the timer was not started");
  }
  if (events_) {
    events_->stop.record(stream_);
  } else {
    stream_.synchronize();
    stop_time_ = Clock::now();
  }
  state_ = State::stopped;
}

double KernelTimer::elapsed_s() const {
  if (state_ != State::stopped) {
    throw Error(ErrorCode::invalid_argument, "read timer",
                state_ == State::idle ? "the timer was not started" : "the timer was not stopped");
  }
  if (!events_) return std::chrono::duration<double>(stop_time_ - start_time_).count();
  events_->stop.synchronize();
  return events_->stop.elapsed_s(events_->start);
}

}  // namespace hiptool
