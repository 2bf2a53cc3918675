// SPDX-License-Identifier: MIT
#include "load/read/read_trial.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

using namespace hiptool::load;
using namespace std::chrono_literals;
using Duration = ReadTrial::Clock::duration;

namespace {

constexpr auto parallel = ReadWay::parallel;
constexpr auto serial = ReadWay::serial;
constexpr auto buffered = ReadWay::buffered;

// One thread that reads extents of 100 bytes, with windows of 1000.
struct Reader {
  ReadTrial trial;
  ReadTrial::Clock::time_point now{1h};

  explicit Reader(const std::optional<ReadRates>& known = {}) : trial(1000, known) {}

  ReadWay read(Duration each) {
    const auto turn = trial.choose();
    trial.progress(turn, 100, now += each);
    trial.end(turn);
    return turn.way;
  }

  // Extents of this way. After another way five start the clock of a window and ten end it.
  void window(ReadWay way, Duration each, int extents = 15) {
    for (int i = 0; i < extents; ++i) CHECK(read(each) == way);
  }

  // The trial of a disk that is always the same.
  void decide(Duration of_parallel, Duration of_serial, Duration of_buffered) {
    const std::map<ReadWay, Duration> each{
        {parallel, of_parallel}, {serial, of_serial}, {buffered, of_buffered}};
    for (int extents = 0; !trial.decision(); ++extents) {
      REQUIRE(extents < 100);
      const auto turn = trial.choose();
      trial.progress(turn, 100, now += each.at(turn.way));
      trial.end(turn);
    }
  }

  ReadWay chosen() const { return trial.decision().value().chosen; }
};

ReadWay best_of(Duration of_parallel, Duration of_serial, Duration of_buffered) {
  Reader reader;
  reader.decide(of_parallel, of_serial, of_buffered);
  CHECK(reader.read(1us) == reader.chosen());
  return reader.chosen();
}

}  // namespace

TEST_CASE("the fastest way gets the rest, whichever it is") {
  CHECK(best_of(20us, 26us, 27us) == parallel);
  CHECK(best_of(26us, 20us, 27us) == serial);
  CHECK(best_of(26us, 27us, 20us) == buffered);
  CHECK(best_of(20us, 200us, 200us) == parallel);
  CHECK(best_of(200us, 20us, 200us) == serial);
  CHECK(best_of(200us, 200us, 20us) == buffered);
}

TEST_CASE("a gain of less than 5 % keeps many requests in flight") {
  CHECK(best_of(1040us, 1000us, 1010us) == parallel);
  CHECK(best_of(1060us, 1000us, 1010us) == serial);
}

TEST_CASE("two windows of each way, one of those that are far behind") {
  Reader reader;
  reader.window(parallel, 10us);
  reader.window(serial, 20us);
  reader.window(buffered, 12us);
  reader.window(buffered, 14us, 10);  // goes on, so that no clock starts again
  reader.window(parallel, 10us);
  CHECK(reader.chosen() == parallel);
  CHECK(reader.trial.text() ==
        "many direct reads at a time, after a trial: 10.0 MB/s; one large direct read at a time "
        "5.00 MB/s, through the page cache 7.69 MB/s");

  Reader clear;
  clear.window(parallel, 20us);
  clear.window(serial, 10us);
  clear.window(buffered, 20us);
  CHECK(clear.chosen() == serial);
}

TEST_CASE("a disk that slows down after a rest is not charged to those that come later") {
  Reader reader;
  reader.window(parallel, 10us);
  reader.window(serial, 13us);
  reader.window(buffered, 13us);
  reader.window(buffered, 13us, 10);
  reader.window(serial, 13us);
  reader.window(parallel, 17us);
  CHECK(reader.chosen() == parallel);  // 13.5 against 13 us
}

TEST_CASE("extents of the way before do not count, and the clock waits for them") {
  Reader reader;
  const auto slow = reader.trial.choose();
  reader.window(parallel, 10us);
  reader.window(serial, 10us, 20);  // not measured: an extent of the way before is in flight
  reader.trial.progress(slow, 1'000'000, reader.now);
  reader.trial.end(slow);
  reader.window(serial, 10us, 11);  // the first of them starts the clock
  CHECK(reader.read(10us) == buffered);
}

TEST_CASE("what arrives within an extent counts when it arrives") {
  Reader reader;
  const auto turn = reader.trial.choose();
  for (int i = 0; i < 15; ++i) reader.trial.progress(turn, 100, reader.now += 10us);
  CHECK(reader.trial.choose().way == serial);
  reader.trial.progress(turn, 1'000'000, reader.now += 10us);  // of the window before
  CHECK(reader.trial.choose().way == serial);
}

TEST_CASE("a way that is far slower than another one is given up early") {
  Reader reader;
  reader.window(parallel, 10us);
  reader.window(serial, 200us, 2);  // three times the 100 us that a window of the other way took
  reader.window(buffered, 12us);
  CHECK(reader.read(12us) == buffered);
  CHECK_FALSE(reader.trial.decision());
  // The chosen one has its whole window.
  Reader known(ReadRates{parallel, {10e6, 8e6, 1e6}});
  known.window(parallel, 10us);
  known.window(parallel, 100us, 10);
  CHECK(known.read(1us) == serial);
}

TEST_CASE("a decision is taken back where another way was faster and still is") {
  Reader reader;
  reader.decide(10us, 12us, 30us);
  REQUIRE(reader.chosen() == parallel);
  reader.window(parallel, 10us, 10);
  for (int i = 0; i < 5; ++i) reader.window(parallel, 13us, 10);  // not yet 0.9 of it
  reader.window(parallel, 20us, 10);
  reader.window(serial, 12us);
  reader.window(parallel, 20us);
  CHECK(reader.chosen() == serial);
  CHECK(reader.trial.text().find("one large direct read at a time, after a trial during the load: "
                                 "8.33 MB/s; many direct reads at a time 5.00 MB/s") == 0);
  // And back, after two windows of it.
  reader.window(serial, 30us, 15 + 10);
  reader.window(parallel, 20us);
  reader.window(serial, 30us);
  CHECK(reader.chosen() == parallel);
}

TEST_CASE("a disk that stalls once keeps its way") {
  Reader reader;
  reader.decide(10us, 30us, 30us);
  reader.window(parallel, 10us);
  reader.window(parallel, 10us, 9);
  CHECK(reader.read(1s) == parallel);
  reader.window(serial, 30us);
  int others = 0;
  for (int i = 0; i < 5000; ++i) {
    if (reader.read(10us) != parallel) ++others;
  }
  CHECK(reader.chosen() == parallel);
  CHECK(others < 20);
}

TEST_CASE("a disk that is slower for all keeps its way, and the others are asked once") {
  Reader reader;
  reader.decide(10us, 12us, 30us);
  int others = 0;
  for (int i = 0; i < 3000; ++i) {
    if (reader.read(20us + std::chrono::microseconds(i % 7)) != parallel) ++others;
    CHECK(reader.chosen() == parallel);
  }
  CHECK(others == 15);  // one window; its rate is then known to be no better
}

TEST_CASE("what is known of a file system spares the trial") {
  const ReadRates known{serial, {10e6, 20e6, 5e6}};
  Reader reader(known);
  REQUIRE(reader.trial.decision());
  CHECK_FALSE(reader.trial.is_used());
  reader.window(serial, 5us, 14);
  CHECK(reader.trial.is_used());
  CHECK_FALSE(reader.trial.has_measured());
  reader.window(serial, 5us, 31);
  CHECK(reader.trial.has_measured());
  CHECK(
      reader.trial.text() ==
      "one large direct read at a time, as an earlier load found: 20.0 MB/s; many direct reads at "
      "a time 10.0 MB/s, through the page cache 5.00 MB/s");
  // It is no longer true.
  reader.window(serial, 12us, 10);
  reader.window(parallel, 10us);
  reader.window(serial, 12us);
  CHECK(reader.chosen() == parallel);

  KnownReadRates rates;
  CHECK_FALSE(rates.find({7, 16}));
  rates.keep({7, 16}, known);
  rates.keep({7, 14}, {parallel, {}});
  rates.keep({8, 16}, {buffered, {}});
  CHECK(rates.find({7, 16})->chosen == serial);
  CHECK(rates.find({7, 16})->bytes_per_s[1] == 20e6);
  CHECK(rates.find({7, 14})->chosen == parallel);
  CHECK(ReadTrial(1000, rates.find({8, 16})).text() ==
        "through the page cache, as an earlier load found");
}

TEST_CASE("many threads find the same as one") {
  ReadTrial trial(1000);
  std::atomic<std::int64_t> now_ms{0};
  std::atomic<int> after_decision{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (after_decision < 1000) {
        if (trial.decision()) ++after_decision;
        const auto turn = trial.choose();
        const std::int64_t took_ms = turn.way == serial ? 1 : 5;
        const std::chrono::milliseconds now(now_ms += took_ms);
        trial.progress(turn, 100, ReadTrial::Clock::time_point(now));
        trial.end(turn);
      }
    });
  }
  threads.clear();
  CHECK(trial.decision()->chosen == serial);
}
