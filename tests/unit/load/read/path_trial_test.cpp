// SPDX-License-Identifier: MIT
#include "load/read/path_trial.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

using namespace hiptool::load;
using namespace std::chrono_literals;
using Path = PathTrial::Path;

namespace {

// One thread that reads extents of 100 bytes, each in that time, until the trial of windows of 1000
// bytes has decided or is through.
struct Reader {
  PathTrial trial{1000};
  PathTrial::Clock::time_point now{1h};

  void read(Path path, int extents, PathTrial::Clock::duration each) {
    for (int i = 0; i < extents; ++i) {
      CHECK_FALSE(trial.decision());
      const auto turn = trial.choose();
      CHECK(turn.path == path);
      trial.report(turn, 100, now += each);
    }
  }

  // The first extent of a window only starts its clock.
  void read_windows(PathTrial::Clock::duration direct, PathTrial::Clock::duration buffered,
                    PathTrial::Clock::duration direct_again) {
    read(Path::direct, 11, direct);
    read(Path::buffered, 11, buffered);
    read(Path::direct, 11, direct_again);
  }
};

}  // namespace

TEST_CASE("each way gets its window, then the faster one gets the rest") {
  Reader faster_buffered;
  faster_buffered.read_windows(30us, 20us, 30us);
  CHECK(faster_buffered.trial.decision() == Path::buffered);
  CHECK(faster_buffered.trial.choose().path == Path::buffered);
  CHECK(faster_buffered.trial.text() ==
        "through the page cache, after a trial of both: through it came 150 % of the rate past it");

  Reader faster_direct;
  faster_direct.read_windows(20us, 40us, 20us);
  CHECK(faster_direct.trial.choose().path == Path::direct);
  CHECK(faster_direct.trial.text() ==
        "past the page cache, after a trial of both: through it came 50 % of the rate past it");
}

TEST_CASE("a small gain keeps reads out of the page cache") {
  Reader reader;
  reader.read_windows(1000us, 900us, 1000us);
  CHECK(reader.trial.decision() == Path::direct);
}

TEST_CASE("a disk that slows down after a rest is not charged to the second way") {
  Reader reader;
  reader.read_windows(10us, 20us, 50us);
  CHECK(reader.trial.decision() == Path::direct);
  Reader slower;
  slower.read_windows(40us, 25us, 50us);
  CHECK(slower.trial.decision() == Path::buffered);
}

TEST_CASE("extents of the way before do not count, and the clock waits for them") {
  Reader reader;
  const auto slow = reader.trial.choose();
  reader.read(Path::direct, 11, 10us);
  reader.read(Path::buffered, 50, 10us);  // not measured: a direct read is in flight
  reader.trial.report(slow, 100, reader.now += 1s);
  CHECK(reader.trial.text().empty());
  reader.read(Path::buffered, 10, 10us);
  reader.read(Path::direct, 11, 10us);
  CHECK(reader.trial.text() ==
        "past the page cache, after a trial of both: through it came 100 % of the rate past it");
}

TEST_CASE("reads after the decision do not change it, whichever thread reads") {
  PathTrial trial(1000);
  std::atomic<std::int64_t> now_ms{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!trial.decision()) {
        const auto turn = trial.choose();
        const std::int64_t took_ms = turn.path == Path::direct ? 3 : 1;
        const std::chrono::milliseconds now(now_ms += took_ms);
        trial.report(turn, 100, PathTrial::Clock::time_point(now));
      }
    });
  }
  threads.clear();
  // Which one it is depends on the order in which the threads report.
  const auto decided = trial.decision();
  REQUIRE(decided.has_value());
  const auto turn = trial.choose();
  CHECK(turn.path == *decided);
  trial.report(turn, 1'000'000);
  CHECK(trial.decision() == decided);
  CHECK(trial.choose().path == *decided);
}
