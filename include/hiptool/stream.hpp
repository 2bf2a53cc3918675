// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"

namespace hiptool {

class Event;

/// A borrowed stream: cheap to copy, owns nothing. All work on it is asynchronous to the host
/// unless a function says otherwise.
class HIPTOOL_API StreamRef {
 public:
  /// Wraps a hipStream_t or CUstream that lives at least as long as this object. The null stream is
  /// refused with Error(invalid_argument): it serialises against every other blocking stream.
  [[nodiscard]] static StreamRef borrow_native(const Device& device, void* stream);

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] void* native_handle() const noexcept { return stream_; }

  /// Blocks until all work queued so far is done. Throws what that work failed with.
  void synchronize() const;

  /// True when all work queued so far is done. Does not block.
  [[nodiscard]] bool is_done() const;

  /// Later work on this stream waits for the event's last record. Does not block the host.
  void wait(const Event& event) const;

  /// Runs the function on a runtime thread once all earlier work is done. It must not call the
  /// runtime and must not throw. Returns at once. Throws Error(invalid_argument) for an empty one.
  void launch_host_function(std::function<void()> function) const;

  friend bool operator==(const StreamRef& left, const StreamRef& right) noexcept {
    return left.stream_ == right.stream_ && left.device_ == right.device_;
  }

 protected:
  StreamRef(const Device& device, void* stream) : device_(device), stream_(stream) {}

  Device device_;
  void* stream_ = nullptr;  // null: it was moved from or released
};

/// Owns a stream that does not block against the null stream. Destroying it does not wait: queued
/// work still runs. A failing destroy goes to the trace. A moved-from or
/// released Stream may be destroyed and assigned to; other uses throw Error(invalid_argument).
class HIPTOOL_API Stream : public StreamRef {
 public:
  enum class Priority { normal, low, high };

  /// Throws Error(device) naming the call.
  explicit Stream(const Device& device, Priority priority = Priority::normal);
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;

  /// Takes over a native stream, which is destroyed with this object.
  [[nodiscard]] static Stream take_native(const Device& device, void* stream);
  /// Gives the native stream to the caller.
  [[nodiscard]] void* release() noexcept;

 private:
  struct Adopt {};
  Stream(const Device& device, void* stream, Adopt) : StreamRef(device, stream) {}
  void destroy() noexcept;
};

}  // namespace hiptool
