// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "hiptool/load.hpp"

namespace hiptool::load {

/// Records one phase from its making to its end, also when an exception passes: in the report, on
/// the timeline's track "steps" and, when it begins, to the observer.
class PhaseTimer {
 public:
  using Clock = LoadReport::Clock;

  /// `name` is a literal. Timeline and observer may be null.
  PhaseTimer(LoadReport& report, Timeline* timeline, LoadObserver* observer, const char* name);
  ~PhaseTimer();
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

  /// The phase ended so long after its start, and `next`, a literal, began then.
  void ended_after(double duration_s, const char* next);

 private:
  void record(Clock::time_point end);

  LoadReport& report_;
  Timeline* timeline_;
  LoadObserver* observer_;
  std::uint32_t track_ = 0;
  int exceptions_;  // under way when the phase began
  const char* name_;
  Clock::time_point start_;
};

}  // namespace hiptool::load
