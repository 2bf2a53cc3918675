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
/// empty; it says on what the call worked.
Error call_error(const Device& device, std::string_view call_name, hip::hipError_t error,
                 std::string_view subject = {}, std::string_view detail = {});

/// Calls and throws call_error unless it succeeded. Builds nothing on success.
template <auto Member, class... Arguments>
void call(const Device& device, std::string_view subject, Arguments... arguments) {
  const hip::hipError_t error = (device.api().*Member)(arguments...);
  if (error != hip::hipSuccess) {
    throw call_error(device, hip::call_name<Member>(), error, subject);
  }
}

/// Writes a failed call to the trace. Never throws.
void note_failure(const Device& device, std::string_view call_name, hip::hipError_t error) noexcept;

/// For destructors: calls, and a failure goes to the trace.
template <auto Member, class... Arguments>
void release(const Device& device, Arguments... arguments) noexcept {
  const hip::hipError_t error = (device.api().*Member)(arguments...);
  if (error != hip::hipSuccess) {
    note_failure(device, hip::call_name<Member>(), error);
  }
}

/// For what a runtime need not know: calls, and says whether it answered. A failure other than "not
/// supported" or "no such attribute" goes to the trace.
template <auto Member, class... Arguments>
bool query(const Device& device, Arguments... arguments) noexcept {
  const hip::hipError_t error = (device.api().*Member)(arguments...);
  if (error == hip::hipSuccess) return true;
  if (error != hip::hipErrorNotSupported && error != hip::hipErrorInvalidValue) {
    note_failure(device, hip::call_name<Member>(), error);
  }
  return false;
}

/// Waits for a stream after something failed, so that memory its copies use may go. Never throws; a
/// wait that fails goes to the trace.
void settle(const StreamRef& stream) noexcept;

/// Makes the device current without throwing, for destructors; puts the previous one back.
class QuietDeviceGuard {
 public:
  explicit QuietDeviceGuard(const Device& device) noexcept;
  ~QuietDeviceGuard();
  QuietDeviceGuard(const QuietDeviceGuard&) = delete;
  QuietDeviceGuard& operator=(const QuietDeviceGuard&) = delete;

 private:
  const Device& device_;
  int previous_ = -1;
};

}  // namespace hiptool::core
