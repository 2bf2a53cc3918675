// SPDX-License-Identifier: MIT
#include "hiptool/event.hpp"

#include "core/call.hpp"

namespace hiptool {
namespace {

using core::call;
using hip::Api;

}  // namespace

hip::hipEvent_t core::native_of(const Event& event) {
  if (event.native_handle() == nullptr) {
    throw Error(ErrorCode::invalid_argument, "use event", "the event was moved from or released");
  }
  return static_cast<hip::hipEvent_t>(event.native_handle());
}

Event::Event(const Device& device, Kind kind, bool blocking) : Event(device, nullptr) {
  const DeviceGuard guard(device);
  const unsigned flags = (kind == Kind::ordering ? hip::hipEventDisableTiming : 0u) |
                         (blocking ? hip::hipEventBlockingSync : 0u);
  hip::hipEvent_t created = nullptr;
  call<&Api::hipEventCreateWithFlags>(device, {}, &created, flags);
  event_.reset(created);
}

Event Event::take_native(const Device& device, void* event) {
  if (event == nullptr) {
    throw Error(ErrorCode::invalid_argument, "wrap event", "a null event is not accepted");
  }
  return Event(device, event);
}

void Event::record(const StreamRef& stream) {
  if (!(stream.device() == device())) {
    throw Error(ErrorCode::invalid_argument, "hipEventRecord",
                "the event is on " + device().id() + ", the stream on " + stream.device().id(),
                "create the event on the stream's device");
  }
  const DeviceGuard guard(device());
  call<&Api::hipEventRecord>(device(), {}, core::native_of(*this), core::native_of(stream));
}

void Event::synchronize() const {
  const DeviceGuard guard(device());
  call<&Api::hipEventSynchronize>(device(), {}, core::native_of(*this));
}

bool Event::is_done() const {
  const DeviceGuard guard(device());
  const hip::hipError_t error = core::api_of(device()).hipEventQuery(core::native_of(*this));
  if (error == hip::hipErrorNotReady) return false;
  if (error != hip::hipSuccess) throw core::call_error(device(), "hipEventQuery", error);
  return true;
}

double Event::elapsed_s(const Event& start) const {
  const DeviceGuard guard(device());
  float milliseconds = 0;
  call<&Api::hipEventElapsedTime>(device(), {}, &milliseconds, core::native_of(start),
                                  core::native_of(*this));
  return static_cast<double>(milliseconds) * 1e-3;
}

void Event::Destroy::operator()(void* event) const noexcept {
  const core::QuietDeviceGuard guard(device);
  core::release<&Api::hipEventDestroy>(device, static_cast<hip::hipEvent_t>(event));
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
