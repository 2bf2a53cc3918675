// SPDX-License-Identifier: MIT
#include "load/read/path_trial.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace hiptool::load;
using namespace std::chrono_literals;
using Path = PathTrial::Path;

namespace {

// Reads the three windows of 1000 bytes with those times for 100 bytes.
void read_windows(PathTrial& trial, PathTrial::Clock::duration direct,
                  PathTrial::Clock::duration buffered, PathTrial::Clock::duration direct_again) {
  for (int i = 0; i < 30; ++i) {
    const Path path = trial.choose(100);
    CHECK(path == (i / 10 == 1 ? Path::buffered : Path::direct));
    CHECK_FALSE(trial.decision());
    trial.report(path, 100, path == Path::buffered ? buffered : i < 10 ? direct : direct_again);
  }
}

}  // namespace

TEST_CASE("each way gets its window, then the faster one gets the rest") {
  PathTrial faster_buffered(1000);
  read_windows(faster_buffered, 30us, 20us, 30us);
  CHECK(faster_buffered.decision() == Path::buffered);
  CHECK(faster_buffered.choose(100) == Path::buffered);
  CHECK(faster_buffered.text() ==
        "through the page cache, after a trial of both: through it came 150 % of the rate past it");

  PathTrial faster_direct(1000);
  read_windows(faster_direct, 20us, 40us, 20us);
  CHECK(faster_direct.choose(100) == Path::direct);
  CHECK(faster_direct.text() ==
        "past the page cache, after a trial of both: through it came 50 % of the rate past it");
}

TEST_CASE("a negligible gain keeps reads out of the page cache") {
  PathTrial trial(1000);
  read_windows(trial, 1000us, 900us, 1000us);
  CHECK(trial.decision() == Path::direct);
}

TEST_CASE("a disk that slows down after a rest is not charged to the second way") {
  PathTrial trial(1000);
  read_windows(trial, 10us, 25us, 50us);  // through the cache it is faster than in between
  CHECK(trial.decision() == Path::buffered);
}

TEST_CASE("until all windows are read nothing is decided, and other reads are direct") {
  PathTrial trial(1000);
  for (int i = 0; i < 30; ++i) trial.choose(100);
  CHECK(trial.choose(100) == Path::direct);
  for (int i = 0; i < 50; ++i) trial.report(Path::direct, 100, 1us);
  CHECK_FALSE(trial.decision());
  CHECK(trial.text().empty());
  for (int i = 0; i < 10; ++i) trial.report(Path::buffered, 100, 2us);
  CHECK(trial.decision() == Path::direct);
}

TEST_CASE("reads after the decision do not change it, whichever thread reads") {
  PathTrial trial(1000);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        const Path path = trial.choose(100);
        trial.report(path, 100, path == Path::direct ? 30us : 10us);
      }
    });
  }
  threads.clear();
  CHECK(trial.decision() == Path::buffered);
  for (int i = 0; i < 100; ++i) trial.report(Path::direct, 100, 1ns);
  CHECK(trial.choose(1) == Path::buffered);
}
