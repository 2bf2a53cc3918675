// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include "hiptool/event.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "hiptool/stream.hpp"
#include "measure/copy/device_tools.hpp"

namespace hiptool::measure {

/// The most operations queued after a closed gate: a driver may block its caller when a queue is
/// full (about 32 launches on NVIDIA; nvbench's blocking kernel has the same bound).
inline constexpr std::size_t most_queued = 32;

/// Holds the streams of one device until work is queued on all of them, so that the timed interval
/// does not include queueing. A kernel spins on a flag; on the cpu platform a host function waits.
/// A gate opens by itself after its limit.
class Gate {
 public:
  /// Without a kernel to hold the device can_close() is false.
  Gate(const DeviceTools& tools, std::chrono::milliseconds limit);
  /// Opens it.
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  bool can_close() const noexcept { return waiter_ != nullptr || kernel_.has_value(); }

  /// Closes it, or only records opened() if `holds` is false. Does not block.
  void close(bool holds);
  /// Delays later work on the stream until the gate opens.
  void hold(const StreamRef& stream) const { stream.wait(opened_); }
  /// Whether it opened by itself before open().
  bool has_expired() const { return is_closed_ && opened_.is_done(); }
  /// After has_expired(): true if it opened before its limit, because the device reads the flag
  /// more than 1000 times per millisecond; the number of reads is increased tenfold.
  bool lengthen();
  void open() noexcept;

  /// Recorded when the gate opens: the start of the work queued after it.
  const Event& opened() const noexcept { return opened_; }

 private:
  struct Waiter;

  Stream stream_;
  Event opened_;
  std::chrono::milliseconds limit_;
  std::optional<Kernel> kernel_;
  std::optional<PinnedBuffer> flag_;
  std::shared_ptr<Waiter> waiter_;
  bool is_closed_ = false;
  std::chrono::steady_clock::time_point closed_at_;
  std::uint64_t spins_per_ms_;
};

}  // namespace hiptool::measure
