// SPDX-License-Identifier: MIT
#include "load/workers.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <barrier>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "unit/load/thread_ids.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

/// Threads and indexes of work that only ends once `count` threads do it together.
class Meeting {
 public:
  explicit Meeting(std::uint32_t count) : all_(count) {}

  WorkerTask work() {
    return [this](std::uint32_t index, const std::atomic<bool>&) {
      {
        const std::lock_guard lock(mutex_);
        threads.insert(gettid());
        indexes.insert(index);
      }
      all_.arrive_and_wait();
    };
  }

  std::set<pid_t> threads;
  std::set<std::uint32_t> indexes;

 private:
  std::mutex mutex_;
  std::barrier<> all_;
};

}  // namespace

TEST_CASE("workers: the threads of one run do the next") {
  WorkerThreads threads;
  Meeting first(5), second(5), larger(8), smaller(2);
  threads.run(5, first.work());
  threads.run(5, second.work());
  CHECK(first.indexes == std::set<std::uint32_t>{0, 1, 2, 3, 4});
  CHECK(first.threads.size() == 5);
  CHECK(first.threads.count(gettid()) == 0);
  CHECK(second.threads == first.threads);
  CHECK(second.indexes == first.indexes);

  threads.run(8, larger.work());
  CHECK(larger.threads.size() == 8);
  for (const pid_t id : first.threads) CHECK(larger.threads.count(id) == 1);
  threads.run(2, smaller.work());
  CHECK(smaller.indexes == std::set<std::uint32_t>{0, 1});
}

TEST_CASE("workers: threads that were prepared are used, and end unused") {
  WorkerThreads threads;
  threads.prepare(3);
  threads.prepare(2);
  const std::set<pid_t> there = test::thread_ids();
  Meeting three(3), four(4);
  threads.run(3, three.work());
  for (const pid_t id : three.threads) CHECK(there.count(id) == 1);
  CHECK(three.threads.size() == 3);
  threads.run(4, four.work());
  CHECK(four.threads.size() == 4);
  threads.run(0, [](std::uint32_t, const std::atomic<bool>&) { FAIL("nobody was wanted"); });
  WorkerThreads unused;
  unused.prepare(3);
}

TEST_CASE("workers: preparing during a run does not wait for it") {
  WorkerThreads threads;
  Meeting two(2);
  threads.run(2, [&](std::uint32_t index, const std::atomic<bool>& stop) {
    threads.prepare(8);
    two.work()(index, stop);
  });
  CHECK(two.threads.size() == 2);
}

TEST_CASE("workers: the first failure stops the others, and the next run starts without it") {
  WorkerThreads threads;
  threads.prepare(4);
  for (int turn = 0; turn < 3; ++turn) {
    std::atomic<int> stopped{0};
    const WorkerTask fails = [&](std::uint32_t index, const std::atomic<bool>& stop) {
      if (index == 2) throw std::runtime_error("the third one");
      while (!stop.load()) std::this_thread::yield();
      ++stopped;
    };
    CHECK_THROWS_WITH(threads.run(4, fails), "the third one");
    CHECK(stopped == 3);
    Meeting all(4);
    threads.run(4, all.work());
    CHECK(all.threads.size() == 4);
  }
}

TEST_CASE("workers: many short runs of changing size") {
  WorkerThreads threads;
  for (std::uint32_t turn = 0; turn < 2000; ++turn) {
    const std::uint32_t count = turn % 7;
    std::atomic<std::uint32_t> sum{0};
    threads.run(count, [&](std::uint32_t index, const std::atomic<bool>&) { sum += index + 1; });
    REQUIRE(sum == count * (count + 1) / 2);
  }
}
