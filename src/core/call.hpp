// SPDX-License-Identifier: MIT
/// Calls into the HIP table: checked, for releases, and for attributes that may be missing.
#pragma once
#include <string>
#include <string_view>

#include "core/platform_state.hpp"
#include "hip/api.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/stream.hpp"

namespace hiptool::core {

/// Kind of error that a native code is, the same on every platform.
ErrorCode error_code_of(hip::hipError_t error) noexcept;

/// "hipMalloc of 64 MiB on nvidia:0: hipErrorOutOfMemory (2), out of memory". `subject` may be
/// empty; it is the object of the call. A sticky error (ErrorCode::device_lost) makes the device
/// a lost one: every failed call must come through here or through note_failure.
Error call_error(const Device& device, std::string_view call_name, hip::hipError_t error,
                 std::string_view subject = {}, std::string_view detail = {});

/// As call_error, but hipErrorOutOfMemory is host memory that did not suffice.
Error host_memory_error(const Device& device, std::string_view call_name, hip::hipError_t error,
                        std::string_view subject);

/// Whether a call on this device failed with a sticky error before.
inline bool is_lost(const Device& device) noexcept {
  return state_of(device).lost_devices->is_lost(device.native_handle());
}

/// Throws Error(device_lost) with the first failure, without a runtime call, where the
/// process cannot use the device any more. call() does so, and with it DeviceGuard.
void require_usable(const Device& device);

/// Calls and throws call_error unless it succeeded. Builds nothing on success.
template <auto Member, class... Arguments>
void call(const Device& device, std::string_view subject, Arguments... arguments) {
  require_usable(device);
  const hip::hipError_t error = (api_of(device).*Member)(arguments...);
  if (error != hip::hipSuccess) {
    throw call_error(device, hip::call_name<Member>(), error, subject);
  }
}

/// The same for calls that take memory of the host: no memory is Error(host_out_of_memory) then.
template <auto Member, class... Arguments>
void call_for_host_memory(const Device& device, std::string_view subject, Arguments... arguments) {
  require_usable(device);
  const hip::hipError_t error = (api_of(device).*Member)(arguments...);
  if (error != hip::hipSuccess) {
    throw host_memory_error(device, hip::call_name<Member>(), error, subject);
  }
}

/// Writes a failed call to the trace; a sticky error makes the device a lost one. Never throws.
void note_failure(const Device& device, std::string_view call_name, hip::hipError_t error) noexcept;

/// For destructors: calls, on a lost device too, and returns whether it succeeded. A failure goes
/// to the trace.
template <auto Member, class... Arguments>
bool release(const Device& device, Arguments... arguments) noexcept {
  const hip::hipError_t error = (api_of(device).*Member)(arguments...);
  if (error == hip::hipSuccess) return true;
  note_failure(device, hip::call_name<Member>(), error);
  return false;
}

/// For values that a runtime need not have: calls, and returns whether it succeeded. A failure
/// other than "not supported" or "no such attribute" goes to the trace. A lost device is skipped.
template <auto Member, class... Arguments>
bool query(const Device& device, Arguments... arguments) noexcept {
  if (is_lost(device)) return false;
  const hip::hipError_t error = (api_of(device).*Member)(arguments...);
  if (error == hip::hipSuccess) return true;
  if (error != hip::hipErrorNotSupported && error != hip::hipErrorInvalidValue) {
    note_failure(device, hip::call_name<Member>(), error);
  }
  return false;
}

/// The handle. Throws Error(invalid_argument) for one that was moved from or released.
hip::hipStream_t native_of(const StreamRef& stream);
hip::hipEvent_t native_of(const Event& event);

/// Waits for a stream after something failed, so that memory its copies use may go. Never throws; a
/// wait that fails goes to the trace. A lost device is waited for too: its copies may still run.
void settle(const StreamRef& stream) noexcept;

/// Makes the device current without throwing, for destructors; puts the previous one back.
class QuietDeviceGuard {
 public:
  explicit QuietDeviceGuard(const Device& device) noexcept;
  ~QuietDeviceGuard();
  QuietDeviceGuard(const QuietDeviceGuard&) = delete;
  QuietDeviceGuard& operator=(const QuietDeviceGuard&) = delete;

 private:
  Device device_;
  int previous_ = -1;
};

}  // namespace hiptool::core
