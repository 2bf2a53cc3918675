// SPDX-License-Identifier: MIT
#include "accept/workers.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.hpp"

namespace hiptool::accept {
namespace {

using Clock = Heartbeat::Clock;

constexpr std::chrono::milliseconds look_pause{20};
constexpr std::chrono::seconds cancel_patience{2};

/// What a thread and the one that waits for it share.
struct SharedTask {
  Heartbeat heart;
  std::mutex mutex;
  std::condition_variable has_ended;
  bool is_done = false;

  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return has_ended.wait_for(lock, time, [this] { return is_done; });
  }
};

std::shared_ptr<SharedTask> start_thread(const Task& task) {
  auto shared = std::make_shared<SharedTask>();
  const auto work = [shared, task] {
    task(shared->heart);
    const std::lock_guard lock(shared->mutex);
    shared->is_done = true;
    shared->has_ended.notify_all();
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error&) {
    work();  // no thread to be had: a device that hangs is waited for then
  }
  return shared;
}

}  // namespace

void Heartbeat::step(std::string what, double factor, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  factor_ = factor;
  since_ = now;
}

std::string Heartbeat::current() const {
  const std::lock_guard lock(mutex_);
  return what_;
}

bool Heartbeat::is_late(double patience_s, Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration<double>(now - since_).count() > patience_s * factor_;
}

std::vector<TaskEnd> run_tasks(const std::vector<Task>& tasks, double patience_s,
                               const CancelToken& cancel, const OnLook& on_look) {
  const Clock::time_point start = Clock::now();
  std::vector<std::shared_ptr<SharedTask>> running;
  for (const Task& task : tasks) running.push_back(start_thread(task));
  std::vector<TaskEnd> ends(tasks.size());
  std::optional<Clock::time_point> cancelled_at;
  std::size_t left = running.size();
  const auto step_of = [&running](std::size_t i) {
    return running[i] ? running[i]->heart.current() : std::string();
  };
  while (left > 0) {
    if (on_look) on_look(step_of);
    if (cancel.is_cancelled() && !cancelled_at) cancelled_at = Clock::now();
    const bool is_over = cancelled_at && Clock::now() - *cancelled_at > cancel_patience;
    bool has_waited = false;
    for (std::size_t i = 0; i < running.size(); ++i) {
      if (!running[i]) continue;
      SharedTask& task = *running[i];
      const bool is_done = task.wait_for(has_waited ? std::chrono::milliseconds(0) : look_pause);
      has_waited = true;
      if (!is_done && !is_over && !task.heart.is_late(patience_s)) continue;
      ends[i] = {!is_done, task.heart.current(), base::seconds_since(start)};
      running[i].reset();
      --left;
    }
  }
  return ends;
}

}  // namespace hiptool::accept
