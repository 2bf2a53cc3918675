// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "hiptool/timeline.hpp"

namespace hiptool::base {

/// Records the time from its making to its end, also when an exception passes; does nothing for a
/// null timeline.
class TimelineScope {
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

}  // namespace hiptool::base
