// SPDX-License-Identifier: MIT
#include "hiptool/timeline.hpp"

#include <new>
#include <utility>

#include "base/timeline_scope.hpp"

namespace hiptool {

std::uint32_t Timeline::add_track(std::string name) {
  const std::lock_guard lock(mutex_);
  tracks_.push_back(std::move(name));
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

void Timeline::add(const Span& span) {
  const std::lock_guard lock(mutex_);
  spans_.push_back(span);
}

std::vector<std::string> Timeline::tracks() const {
  const std::lock_guard lock(mutex_);
  return tracks_;
}

std::vector<Timeline::Span> Timeline::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

}  // namespace hiptool

namespace hiptool::base {

TimelineScope::~TimelineScope() {
  if (timeline_ == nullptr) return;
  span_.end = Timeline::Clock::now();
  try {
    timeline_->add(span_);
  } catch (const std::bad_alloc&) {
    // Losing a span is better than ending the program.
  }
}

}  // namespace hiptool::base
