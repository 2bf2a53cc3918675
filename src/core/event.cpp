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

Event Event::from_native(const Device& device, void* event) {
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
  const hip::hipError_t error = device_.api().hipEventQuery(native_event(event_));
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

}  // namespace hiptool
