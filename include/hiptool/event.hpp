// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include "hiptool/device.hpp"
#include "hiptool/export.hpp"
#include "hiptool/stream.hpp"

namespace hiptool {

/// A mark on a stream. Owning and move-only; a failing destroy goes to the trace. A moved-from or
/// released Event may be destroyed and assigned to; other uses throw Error(invalid_argument).
class HIPTOOL_API Event {
 public:
  enum class Kind {
    timing,   ///< can be used for elapsed_s()
    ordering  ///< cheaper: only wait, synchronize and is_done
  };

  /// Throws Error(device) naming the call. A blocking event lets synchronize() sleep, not spin.
  explicit Event(const Device& device, Kind kind = Kind::timing, bool blocking = false);

  /// Takes over a native event, which is destroyed with this object.
  [[nodiscard]] static Event take_native(const Device& device, void* event);
  [[nodiscard]] void* native_handle() const noexcept { return event_.get(); }
  [[nodiscard]] void* release() noexcept { return event_.release(); }
  [[nodiscard]] const Device& device() const noexcept { return event_.get_deleter().device; }

  /// Marks the work queued on the stream so far. Does not block. The stream must be on the same
  /// device, else Error(invalid_argument).
  void record(const StreamRef& stream);

  /// Blocks until the last record is reached; returns at once if there was none.
  void synchronize() const;

  /// True when the last record was reached or there was none. Does not block.
  [[nodiscard]] bool is_done() const;

  /// Seconds from `start` to this event, measured by the device (hipEventElapsedTime, resolution
  /// about 0.5 us). Throws Error(device) with hipErrorInvalidHandle when either was never recorded
  /// or keeps no time, with hipErrorNotReady (recoverable) when either was not reached yet.
  [[nodiscard]] double elapsed_s(const Event& start) const;

 private:
  struct Destroy {
    Device device;
    HIPTOOL_API void operator()(void* event) const noexcept;
  };
  Event(const Device& device, void* event) : event_(event, Destroy{device}) {}

  std::unique_ptr<void, Destroy> event_;
};

/// Times the work that is queued on a stream between start() and stop(): by a pair of events, or by
/// the host's clock where the platform has no events (then start and stop wait for the stream).
/// May be used again and again.
class HIPTOOL_API KernelTimer {
 public:
  /// The stream must outlive the timer. Throws Error(device) naming the call.
  explicit KernelTimer(const StreamRef& stream);

  /// Begins a measurement and forgets the one before. Does not block with events.
  void start();

  /// Ends it. Throws Error(invalid_argument) without a start. Does not block with events.
  void stop();

  /// Seconds between start and stop. Blocks until the stop is reached. Throws
  /// Error(invalid_argument) unless both were called, else what the timed work failed with.
  [[nodiscard]] double elapsed_s() const;

  /// False where the host's clock replaces events.
  [[nodiscard]] bool is_device_time() const noexcept { return events_.has_value(); }

 private:
  struct EventPair {
    Event start;
    Event stop;
  };
  enum class State { idle, started, stopped };
  using Clock = std::chrono::steady_clock;

  StreamRef stream_;
  std::optional<EventPair> events_;
  Clock::time_point start_time_;
  Clock::time_point stop_time_;
  State state_ = State::idle;
};

}  // namespace hiptool
