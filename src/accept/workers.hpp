// SPDX-License-Identifier: MIT
/// Work on threads that can be left behind, because a call into a driver that hangs cannot be
/// ended.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"

namespace hiptool::accept {

/// The sign of life of a thread: its current step and when that began. For several threads.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  /// A new step: "h2d.pinned.copy.64MiB@nvidia:0". `factor` multiplies the patience for it.
  void step(std::string what, double factor = 1, Clock::time_point now = Clock::now());
  std::string current() const;
  /// Whether the current step has taken longer than its patience.
  bool is_late(double patience_s, Clock::time_point now = Clock::now()) const;

 private:
  mutable std::mutex mutex_;
  std::string what_ = "start";
  double factor_ = 1;
  Clock::time_point since_ = Clock::now();
};

/// How a task ended.
struct TaskEnd {
  bool is_left_behind = false;  ///< its thread still runs, and may do so for ever
  std::string step;             ///< the last one
  double time_s = 0;
};

/// A task must own everything that it uses, for its thread may outlive the caller. It throws
/// nothing.
using Task = std::function<void(Heartbeat&)>;

/// Called on the waiting thread again and again; the function gives the step of a task by its
/// index, empty for one that has ended.
using OnLook = std::function<void(const std::function<std::string(std::size_t)>& step_of)>;

/// Runs all tasks at once, each on a thread of its own, and waits until each has ended or has been
/// in one step for longer than `patience_s`; those are left behind. After a cancellation each has
/// two seconds to end.
std::vector<TaskEnd> run_tasks(const std::vector<Task>& tasks, double patience_s,
                               const CancelToken& cancel, const OnLook& on_look = {});

}  // namespace hiptool::accept
