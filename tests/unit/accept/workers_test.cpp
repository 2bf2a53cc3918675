// SPDX-License-Identifier: MIT
#include "accept/workers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "accept/stages.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::accept;

namespace {

/// A task that lasts until the test lets it go, so that no thread outlives the program.
struct Stuck {
  std::shared_ptr<std::atomic<bool>> is_free = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<bool>> has_ended = std::make_shared<std::atomic<bool>>(false);

  /// The patience for its step is multiplied by the factor.
  Task task(double factor) const {
    return [is_free = is_free, has_ended = has_ended, factor](Heartbeat& heart) {
      heart.step("waiting for ever", factor);
      is_free->wait(false);
      *has_ended = true;
      has_ended->notify_all();
    };
  }
  ~Stuck() {
    *is_free = true;
    is_free->notify_all();
    has_ended->wait(false);
  }
};

}  // namespace

TEST_CASE("tasks run at once and are waited for") {
  CancelToken cancel;
  const auto all = std::make_shared<std::barrier<>>(3);
  const Task meet = [all](Heartbeat&) { all->arrive_and_wait(); };  // only if all run
  const std::vector<TaskEnd> ends = run_tasks({meet, meet, meet}, 1000, cancel);
  REQUIRE(ends.size() == 3);
  for (const TaskEnd& end : ends) CHECK_FALSE(end.is_left_behind);
  CHECK(run_tasks({}, 1, cancel).empty());
}

TEST_CASE("a task that hangs is left behind with its step, the others are not") {
  CancelToken cancel;
  const Stuck stuck;
  const std::vector<TaskEnd> ends =
      run_tasks({stuck.task(0.0002), [](Heartbeat&) {}}, 1000, cancel);
  CHECK(ends[0].is_left_behind);
  CHECK(ends[0].step == "waiting for ever");
  CHECK(ends[0].time_s >= 0.2);
  CHECK_FALSE(ends[1].is_left_behind);
}

TEST_CASE("patience is for a step, and longer where the step says so") {
  const auto start = Heartbeat::Clock::now();
  const auto at = [start](int ms) { return start + std::chrono::milliseconds(ms); };
  Heartbeat heart;
  for (int ms = 0; ms < 600; ms += 100) {
    heart.step("one of several", 1, at(ms));
    CHECK_FALSE(heart.is_late(0.5, at(ms + 500)));
    CHECK(heart.is_late(0.5, at(ms + 501)));
  }
  heart.step("a long one", 10, at(600));
  CHECK_FALSE(heart.is_late(0.5, at(5600)));
  CHECK(heart.is_late(0.5, at(5601)));
}

TEST_CASE("after a cancellation tasks have two seconds") {
  CancelToken cancel;
  cancel.cancel();
  const Stuck stuck;
  const TaskEnd end = run_tasks({stuck.task(1)}, 1'000'000, cancel).front();
  CHECK(end.is_left_behind);
  CHECK(end.time_s >= 2);
}

TEST_CASE("a step that takes too long: a processor is busy, a GPU may need a reset") {
  const Error error(ErrorCode::timed_out, "check", "no answer");
  const std::string cpu = action_for_hang(Platform::cpu, 30, error);
  CHECK(cpu.find("busy") != std::string::npos);
  CHECK(cpu.find("--timeout 120") != std::string::npos);
  CHECK(cpu.find("dmesg") == std::string::npos);
  const std::string gpu = action_for_hang(Platform::amd, 0.5, error);
  CHECK(gpu.find("dmesg") != std::string::npos);
  CHECK(gpu.find("--timeout 2") != std::string::npos);
}
