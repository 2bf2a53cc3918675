// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <optional>

#include "hiptool/event.hpp"
#include "hiptool/export.hpp"
#include "hiptool/stream.hpp"

namespace hiptool {

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
  double elapsed_s() const;

  /// False where the host's clock stands in for events.
  bool is_device_time() const noexcept { return events_.has_value(); }

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
