// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/export.hpp"

namespace hiptool {

/// Spans of time on tracks, one for each thread, stream or other worker. Recording takes a lock
/// for a moment and never blocks on work; call it from any thread. A null pointer in place of a
/// Timeline records nothing.
class HIPTOOL_API Timeline {
 public:
  using Clock = std::chrono::steady_clock;

  /// One piece of work. `size_bytes` is what it moved, 0 where that has no meaning.
  struct Span {
    std::uint32_t track = 0;
    std::string_view name;  ///< a literal
    Clock::time_point begin;
    Clock::time_point end;
    std::uint64_t size_bytes = 0;
  };

  /// Adds a track; tracks are shown in the order in which they were added.
  std::uint32_t add_track(std::string name);
  void add(const Span& span);

  [[nodiscard]] std::vector<std::string> tracks() const;
  /// In the order of their ends, as far as threads agree on one.
  [[nodiscard]] std::vector<Span> spans() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> tracks_;
  std::vector<Span> spans_;
};

/// Records the time from its making to its end, also when an exception passes; does nothing for a
/// null timeline.
class HIPTOOL_API TimelineScope {
 public:
  TimelineScope(Timeline* timeline, std::uint32_t track, std::string_view name,
                std::uint64_t size_bytes = 0) noexcept
      : timeline_(timeline), span_{track, name, {}, {}, size_bytes} {
    if (timeline_ != nullptr) span_.begin = Timeline::Clock::now();
  }
  ~TimelineScope();
  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;

 private:
  Timeline* timeline_;
  Timeline::Span span_;
};

}  // namespace hiptool
