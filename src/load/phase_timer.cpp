// SPDX-License-Identifier: MIT
#include "load/phase_timer.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace hiptool::load {
namespace {

std::uint32_t steps_track(Timeline& timeline) {
  const std::vector<std::string> tracks = timeline.tracks();
  const auto found = std::find(tracks.begin(), tracks.end(), "steps");
  if (found == tracks.end()) return timeline.add_track("steps");
  return static_cast<std::uint32_t>(found - tracks.begin());
}

double seconds(PhaseTimer::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

PhaseTimer::PhaseTimer(LoadReport& report, Timeline* timeline, LoadObserver* observer,
                       const char* name)
    : report_(report), timeline_(timeline), name_(name), start_(Clock::now()) {
  if (observer != nullptr) observer->on_phase(name_);
}

void PhaseTimer::ended_after(double duration_s, const char* next) {
  const auto end = start_ + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(duration_s));
  record(end);
  name_ = next;
  start_ = end;
}

void PhaseTimer::record(Clock::time_point end) {
  report_.phases.push_back({name_, seconds(start_ - report_.start), seconds(end - start_)});
  if (timeline_ != nullptr) timeline_->add({steps_track(*timeline_), name_, start_, end, 0});
}

}  // namespace hiptool::load
