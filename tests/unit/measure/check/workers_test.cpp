// SPDX-License-Identifier: MIT
#include "measure/check/workers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hiptool/error.hpp"
#include "measure/check/stages.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

using std::chrono::milliseconds;

/// A task that lasts until the test lets it go, so that no thread outlives the program.
struct Stuck {
  std::shared_ptr<std::atomic<bool>> is_free = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<bool>> has_ended = std::make_shared<std::atomic<bool>>(false);

  Task task() const {
    return [is_free = is_free, has_ended = has_ended](Heartbeat& heart) {
      heart.step("waiting for ever");
      while (!*is_free) std::this_thread::sleep_for(milliseconds(2));
      *has_ended = true;
    };
  }
  ~Stuck() {
    *is_free = true;
    while (!*has_ended) std::this_thread::sleep_for(milliseconds(2));
  }
};

}  // namespace

TEST_CASE("tasks run at once and are waited for") {
  CancelToken cancel;
  const auto arrived = std::make_shared<std::atomic<int>>(0);
  const Task meet = [arrived](Heartbeat&) {
    ++*arrived;
    while (*arrived < 3) std::this_thread::sleep_for(milliseconds(1));  // only if all run
  };
  const std::vector<TaskEnd> ends = run_tasks({meet, meet, meet}, 30, cancel);
  REQUIRE(ends.size() == 3);
  for (const TaskEnd& end : ends) CHECK_FALSE(end.is_left_behind);
  CHECK(run_tasks({}, 1, cancel).empty());
}

TEST_CASE("a task that hangs is left behind with its step, the others are not") {
  CancelToken cancel;
  const Stuck stuck;
  const std::vector<TaskEnd> ends = run_tasks({stuck.task(), [](Heartbeat&) {}}, 0.2, cancel);
  CHECK(ends[0].is_left_behind);
  CHECK(ends[0].step == "waiting for ever");
  CHECK(ends[0].time_s >= 0.2);
  CHECK_FALSE(ends[1].is_left_behind);
}

TEST_CASE("patience is for a step, and longer where the step says so") {
  CancelToken cancel;
  const Task steps = [](Heartbeat& heart) {
    for (int i = 0; i < 6; ++i) {
      heart.step("one of several");
      std::this_thread::sleep_for(milliseconds(100));
    }
    heart.step("a long one", 10);
    std::this_thread::sleep_for(milliseconds(800));
  };
  CHECK_FALSE(run_tasks({steps}, 0.5, cancel).front().is_left_behind);
}

TEST_CASE("after a cancellation tasks have two seconds") {
  CancelToken cancel;
  cancel.cancel();
  const Stuck stuck;
  const TaskEnd end = run_tasks({stuck.task()}, 1000, cancel).front();
  CHECK(end.is_left_behind);
  CHECK(end.time_s >= 2);
  CHECK(end.time_s < 30);
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
