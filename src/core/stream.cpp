// SPDX-License-Identifier: MIT
#include "hiptool/stream.hpp"

#include <memory>
#include <utility>

#include "core/call.hpp"
#include "hiptool/event.hpp"

namespace hiptool {
namespace {

using core::call;
using hip::Api;

void require_stream(const void* stream) {
  if (stream == nullptr) {
    throw Error(ErrorCode::invalid_argument, "wrap stream", "the null stream is not accepted",
                "create a stream; the null stream would serialise against all others");
  }
}

void run_host_function(void* user_data) {
  const std::unique_ptr<std::function<void()>> function(
      static_cast<std::function<void()>*>(user_data));
  (*function)();
}

}  // namespace

StreamRef StreamRef::borrow_native(const Device& device, void* stream) {
  require_stream(stream);
  return StreamRef(device, stream);
}

void StreamRef::synchronize() const {
  const DeviceGuard guard(device_);
  call<&Api::hipStreamSynchronize>(device_, {}, core::native_of(*this));
}

bool StreamRef::is_done() const {
  const DeviceGuard guard(device_);
  const hip::hipError_t error = core::api_of(device_).hipStreamQuery(core::native_of(*this));
  if (error == hip::hipErrorNotReady) return false;
  if (error != hip::hipSuccess) throw core::call_error(device_, "hipStreamQuery", error);
  return true;
}

void StreamRef::wait(const Event& event) const {
  const DeviceGuard guard(device_);
  call<&Api::hipStreamWaitEvent>(device_, {}, core::native_of(*this), core::native_of(event), 0u);
}

void StreamRef::launch_host_function(std::function<void()> function) const {
  if (!function) {
    throw Error(ErrorCode::invalid_argument, "launch host function", "the function is empty");
  }
  const DeviceGuard guard(device_);
  auto owned = std::make_unique<std::function<void()>>(std::move(function));
  call<&Api::hipLaunchHostFunc>(device_, {}, core::native_of(*this), &run_host_function,
                                static_cast<void*>(owned.get()));
  static_cast<void>(owned.release());  // run_host_function deletes it
}

Stream::Stream(const Device& device, Priority priority) : StreamRef(device, nullptr) {
  const DeviceGuard guard(device_);
  hip::hipStream_t created = nullptr;
  if (priority == Priority::normal) {
    call<&Api::hipStreamCreateWithFlags>(device_, {}, &created, hip::hipStreamNonBlocking);
  } else {
    int least = 0;
    int greatest = 0;
    call<&Api::hipDeviceGetStreamPriorityRange>(device_, {}, &least, &greatest);
    call<&Api::hipStreamCreateWithPriority>(device_, {}, &created, hip::hipStreamNonBlocking,
                                            priority == Priority::low ? least : greatest);
  }
  stream_ = created;
}

Stream::~Stream() { destroy(); }

Stream::Stream(Stream&& other) noexcept
    : StreamRef(other.device_, std::exchange(other.stream_, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this != &other) {
    destroy();
    device_ = other.device_;
    stream_ = std::exchange(other.stream_, nullptr);
  }
  return *this;
}

Stream Stream::take_native(const Device& device, void* stream) {
  require_stream(stream);
  return Stream(device, stream, Adopt{});
}

void* Stream::release() noexcept { return std::exchange(stream_, nullptr); }

void Stream::destroy() noexcept {
  if (stream_ == nullptr) return;
  const core::QuietDeviceGuard guard(device_);
  core::release<&Api::hipStreamDestroy>(device_, static_cast<hip::hipStream_t>(stream_));
  stream_ = nullptr;
}

}  // namespace hiptool
