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
/// for a moment and never blocks on work; call it from any thread. See LoadOptions::timeline.
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

}  // namespace hiptool
