// SPDX-License-Identifier: MIT
#include "load/phase_timer.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <vector>

namespace hiptool::load {
namespace {

std::uint32_t steps_track(Timeline& timeline) {
  const std::vector<std::string> tracks = timeline.tracks();
  const auto found = std::ranges::find(tracks, "steps");
  if (found == tracks.end()) return timeline.add_track("steps");
  return static_cast<std::uint32_t>(found - tracks.begin());
}

double seconds(PhaseTimer::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

PhaseTimer::PhaseTimer(LoadReport& report, Timeline* timeline, LoadObserver* observer,
                       const char* name)
    : report_(report),
      timeline_(timeline),
      observer_(observer),
      exceptions_(std::uncaught_exceptions()),
      name_(name),
      start_(Clock::now()) {
  if (timeline != nullptr) track_ = steps_track(*timeline);
  if (observer != nullptr) observer->on_phase(name_);
}

PhaseTimer::~PhaseTimer() {
  try {
    record(Clock::now());
  } catch (const std::exception&) {
    // Without memory for its record a phase is missing in the report.
  }
  if (observer_ != nullptr && std::uncaught_exceptions() == exceptions_) observer_->on_phase_end();
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
  if (timeline_ != nullptr) timeline_->add({track_, name_, start_, end, 0});
}

}  // namespace hiptool::load
