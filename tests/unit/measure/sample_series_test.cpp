// SPDX-License-Identifier: MIT
#include "measure/sample_series.hpp"

#include <doctest/doctest.h>

using namespace hiptool::measure;
using std::chrono::steady_clock;

namespace {

// Samples from a list, the last one again and again; the clock goes on by each.
struct Script {
  std::vector<double> times;
  std::size_t calls = 0;
  double now_s = 0;

  std::vector<double> run(const SamplingOptions& options) {
    return collect_samples(
        options,
        [this] {
          const double time = calls < times.size() ? times[calls] : times.back();
          ++calls;
          now_s += time;
          return time;
        },
        [this] {
          return steady_clock::time_point(std::chrono::duration_cast<steady_clock::duration>(
              std::chrono::duration<double>(now_s)));
        });
  }
};

// Alternates, so that it never becomes stable nor quiet.
Script noisy(double time) {
  Script script;
  for (int i = 0; i < 5000; ++i) script.times.push_back(i % 2 == 0 ? time : 3 * time);
  return script;
}

}  // namespace

TEST_CASE("sampling: a quiet series ends at the least number of samples") {
  Script script{{0.001}};
  CHECK(script.run({}).size() == 9);
  CHECK(script.calls == 9 + 2);  // two equal warm-ups
}

TEST_CASE("sampling: warm-up goes on until two in a row agree, and is not kept") {
  Script script{{1.0, 0.5, 0.1, 0.101, 0.1}};
  const auto samples = script.run({});
  CHECK(samples.size() == 9);
  CHECK(samples.front() == 0.1);
  CHECK(script.calls == 4 + 9);
}

TEST_CASE("sampling: warm-up takes its least time, though samples agree before") {
  Script script{{0.001}};
  SamplingOptions options;
  options.least_warm_up_s = 0.03;
  CHECK(script.run(options).size() == 9);
  CHECK(script.calls >= 9 + 29);
  CHECK(script.calls <= 9 + 31);
}

TEST_CASE("sampling: noise goes on until the time is over") {
  Script script = noisy(0.001);
  SamplingOptions options;
  options.time_budget_s = 0.1;
  const auto samples = script.run(options);
  CHECK(samples.size() >= 49);
  CHECK(samples.size() <= 51);
}

TEST_CASE("sampling: the time may be over after few samples, but the least number comes first") {
  Script script = noisy(1.0);
  CHECK(script.run({}).size() == 9);
}

TEST_CASE("sampling: never more than the most, never fewer than the least") {
  Script script = noisy(1e-6);
  SamplingOptions options;
  options.most_samples = 20;
  CHECK(script.run(options).size() == 20);
  options.least_samples = 30;
  CHECK(script.run(options).size() == 30);
  options.least_samples = 1;
  options.most_samples = 1;
  options.most_warm_ups = 0;
  Script single{{0.5}};
  CHECK(single.run(options) == std::vector<double>{0.5});
  CHECK(single.calls == 1);
}
