// SPDX-License-Identifier: MIT
#include "sweep/delays.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iostream>

#include "hiptool/copy.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "scenarios/tools.hpp"

namespace hiptool::sweep {
namespace {

using scenarios::expect;
using scenarios::expect_equal;
using scenarios::Place;
using scenarios::Scenario;
using scenarios::Settled;

constexpr std::chrono::microseconds longest_delay{1'000};

// What is wrong has to show on a busy machine too.
constexpr std::chrono::microseconds longest_delay_of_broken{6'000};
constexpr int most_seeds_of_broken = 60;

constexpr std::size_t size = 50'000;

// What programs do wrong. Each leaves out one wait; with it, it is right.

void reads_before_the_copy_is_there(const Place& place) {
  const scenarios::Bytes sent(size, std::byte{0x33});
  Buffer buffer(place.device(), size);
  copy_h2d_and_wait(buffer, sent);
  PinnedBuffer host(place.device(), size);
  const Stream stream(place.device());
  const Settled settled(stream);
  copy_d2h(host.bytes(), buffer, stream);
  expect_equal(host.bytes(), sent, "without a wait for the stream");
}

void reads_before_the_other_stream_wrote(const Place& place) {
  Buffer buffer(place.device(), size);
  PinnedBuffer host(place.device(), size);
  const Stream producer(place.device());
  const Stream consumer(place.device());
  const Settled producer_settled(producer);
  const Settled consumer_settled(consumer);
  fill(buffer, std::byte{0}, producer);
  producer.synchronize();
  fill(buffer, std::byte{0x44}, producer);
  copy_d2h(host.bytes(), buffer, consumer);
  consumer.synchronize();
  expect_equal(host.bytes(), scenarios::Bytes(size, std::byte{0x44}), "without an event");
}

void overwrites_what_is_still_copied(const Place& place) {
  const scenarios::Bytes sent(size, std::byte{0x55});
  Buffer buffer(place.device(), size);
  PinnedBuffer host(place.device(), size);
  std::copy(sent.begin(), sent.end(), host.data());
  const Stream stream(place.device());
  const Settled settled(stream);
  copy_h2d(buffer, host.bytes(), stream);
  std::fill_n(host.data(), size, std::byte{0});
  stream.synchronize();
  expect_equal(scenarios::read_back(buffer), sent, "a source that was used again too early");
}

void counts_before_the_host_function_ran(const Place& place) {
  const auto value = std::make_shared<std::atomic<int>>(0);
  const Stream first(place.device());
  const Stream second(place.device());
  const auto seen = std::make_shared<std::atomic<int>>(0);
  const Settled first_settled(first);
  const Settled second_settled(second);
  first.launch_host_function([value] { value->store(1); });
  second.launch_host_function([value, seen] { seen->store(value->load()); });
  second.synchronize();
  expect(seen->load() == 1, "two streams without an event");
}

constexpr std::array broken{
    Scenario{.name = "broken: reads before the copy is there",
             .run = reads_before_the_copy_is_there,
             .races = true},
    Scenario{.name = "broken: reads before the other stream wrote",
             .run = reads_before_the_other_stream_wrote,
             .races = true},
    Scenario{.name = "broken: overwrites what is still copied",
             .run = overwrites_what_is_still_copied,
             .races = true},
    Scenario{.name = "broken: counts before the host function ran",
             .run = counts_before_the_host_function_ran},
};

class Sweep {
 public:
  Sweep(const Subject& subject, int seeds)
      : subject_(subject), table_(subject.api), seeds_(seeds) {}

  void expect_right(const Scenario& scenario) {
    if (scenario.holds_host_functions && subject_.platform != Platform::cpu) {
      std::cout << "skipped case: " << scenario.name << ": it holds what the delays are made of\n";
      return;
    }
    for (int seed = 1; seed <= seeds_; ++seed) {
      const Outcome outcome = run_late(scenario, seed, longest_delay);
      if (outcome.error) report(scenario, seed, outcome.error->what());
      if (outcome.wrong) report(scenario, seed, *outcome.wrong);
      if (!outcome.leaked.empty()) report(scenario, seed, "leaks: " + outcome.leaked);
    }
    ++scenarios_;
  }

  /// Some seeds are kind to a broken program; one that finds it is enough.
  void expect_wrong(const Scenario& scenario) {
    for (int seed = 1; seed <= most_seeds_of_broken; ++seed) {
      const Outcome outcome = run_late(scenario, seed, longest_delay_of_broken);
      if (!outcome.wrong) continue;
      std::cout << scenario.name << ": found by seed " << seed << ", " << *outcome.wrong << '\n';
      return;
    }
    report(scenario, most_seeds_of_broken, "no seed so far finds the missing wait");
  }

  bool finish() const {
    std::cout << scenarios_ << " scenarios with " << seeds_ << " seeds each, " << findings_
              << " findings\n";
    return findings_ == 0 && scenarios_ > 0;
  }

 private:
  Outcome run_late(const Scenario& scenario, int seed, std::chrono::microseconds longest) {
    table_.reset();
    table_.delay_streams(static_cast<std::uint64_t>(seed), longest);
    return run(subject_, scenario, table_,
               std::string(scenario.name) + ", seed " + std::to_string(seed));
  }

  void report(const Scenario& scenario, int seed, const std::string& finding) {
    std::cout << scenario.name << ", seed " << seed << ": " << finding << '\n';
    ++findings_;
  }

  const Subject& subject_;
  test::WrapperTable table_;
  int seeds_;
  int scenarios_ = 0;
  int findings_ = 0;
};

}  // namespace

bool sweep_delays(const Subject& subject, int seeds) {
  Sweep sweep(subject, seeds);
  for_each_scenario(subject, broken,
                    [&](const Scenario& scenario) { sweep.expect_wrong(scenario); });
  for_each_scenario(subject, scenarios::all(),
                    [&](const Scenario& scenario) { sweep.expect_right(scenario); });
  return sweep.finish();
}

}  // namespace hiptool::sweep
