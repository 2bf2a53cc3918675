// SPDX-License-Identifier: MIT
#include "base/statistics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace hiptool::base;
using doctest::Approx;

namespace {

// Times of copies on a real machine: a floor, a narrow body and some slow ones.
std::vector<double> noisy_times(std::size_t count, double scale, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> body(1.0, 0.01);
  std::exponential_distribution<double> tail(1 / 0.05);
  std::vector<double> times(count);
  for (double& time : times) {
    time = scale * (body(random) + (random() % 10 == 0 ? tail(random) : 0));
  }
  return times;
}

}  // namespace

TEST_CASE("statistics: quantiles are numpy's") {
  // numpy.quantile([3, 1, 4, 1, 5, 9, 2, 6], [0, .05, .5, .95, 1])
  const std::vector<double> samples{3, 1, 4, 1, 5, 9, 2, 6};
  CHECK(quantile(samples, 0) == 1);
  CHECK(quantile(samples, 0.05) == Approx(1.0));
  CHECK(median(samples) == 3.5);
  CHECK(quantile(samples, 0.95) == Approx(7.95));
  CHECK(quantile(samples, 1) == 9);
  CHECK(median(std::vector<double>{7}) == 7);
  CHECK(std::isnan(median({})));
}

TEST_CASE("statistics: a summary") {
  const Summary summary = summarize(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  CHECK(summary.count == 8);
  CHECK(summary.mean == 5);
  CHECK(summary.min == 2);
  CHECK(summary.max == 9);
  CHECK(summary.deviation == Approx(2.138089935));  // numpy.std(..., ddof=1)
  CHECK(summary.variation == Approx(0.427617987));
  CHECK(summary.relative_standard_error == Approx(0.151185789));
  CHECK(summarize(std::vector<double>{3}).deviation == 0);
  CHECK(std::isnan(summarize({}).p95));
}

TEST_CASE("statistics: ten percent slower is slower in 20 of 20, and the other way faster") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const auto before = noisy_times(25, 1.0, 2 * seed);
    const auto after = noisy_times(25, 1.1, 2 * seed + 1);
    const Comparison comparison = compare_times(before, after);
    CHECK(comparison.verdict == Verdict::slower);
    CHECK(comparison.change == Approx(0.1).epsilon(0.3));
    CHECK(comparison.interval.low <= comparison.change);
    CHECK(comparison.change <= comparison.interval.high);
    CHECK(compare_times(after, before).verdict == Verdict::faster);
  }
}

TEST_CASE("statistics: equal times with noise are never slower or faster, and mostly the same") {
  int same = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto verdict =
        compare_times(noisy_times(25, 1, 100 + 2 * seed), noisy_times(25, 1, 101 + 2 * seed))
            .verdict;
    CHECK(verdict != Verdict::slower);
    CHECK(verdict != Verdict::faster);
    same += verdict == Verdict::same ? 1 : 0;
  }
  CHECK(same >= 15);
}

TEST_CASE("statistics: too few samples, and a change at the edge, are ambiguous") {
  const auto few = noisy_times(8, 1.0, 1);
  CHECK(compare_times(few, noisy_times(25, 1.5, 2)).verdict == Verdict::ambiguous);
  std::vector<double> wide;
  for (int i = 0; i < 10; ++i) wide.push_back(i % 2 == 0 ? 0.9 : 1.1);
  CHECK(compare_times(wide, wide).verdict == Verdict::ambiguous);
  CHECK(compare_times({}, few).verdict == Verdict::ambiguous);
}

TEST_CASE("statistics: equal input gives equal intervals") {
  const auto before = noisy_times(15, 1, 1);
  const auto after = noisy_times(15, 1, 2);
  const Interval first = median_change(before, after);
  const Interval second = median_change(before, after);
  CHECK(first.low == second.low);
  CHECK(first.high == second.high);
}

TEST_CASE("statistics: one straggler stands out, equal values do not") {
  const auto scores = modified_z_scores(std::vector<double>{50, 51, 49.5, 50.2, 30, 50.1});
  CHECK(scores[4] < -3.5);
  CHECK(std::all_of(scores.begin(), scores.begin() + 4,
                    [](double score) { return std::abs(score) < 3.5; }));
  for (const double score : modified_z_scores(std::vector<double>{50, 50, 50, 50.01})) {
    CHECK(std::abs(score) < 3.5);
  }
  CHECK(modified_z_scores(std::vector<double>{0, 0, 0}) == std::vector<double>{0, 0, 0});
}

TEST_CASE("statistics: the slow one of several, and never a fast one") {
  using Speeds = std::vector<double>;
  using Answers = std::vector<bool>;
  const auto answers = [](const auto& found) {
    Answers list;
    for (const auto& one : found) list.push_back(one.has_value());
    return list;
  };
  const auto slow_of = [&](const Speeds& speeds) {
    return answers(find_slow(speeds, speeds, 0.05));
  };
  CHECK(slow_of({}).empty());
  CHECK(slow_of({50}) == Answers{false});
  CHECK(slow_of({50, 40}) == Answers{false, true});
  CHECK(slow_of({50, 48}) == Answers{false, false});
  CHECK(slow_of({50, 50, 70}) == Answers{false, false, false});
  CHECK(slow_of({50, 70, 50, 40}) == Answers{false, false, false, true});
  CHECK(slow_of({50, 51, 50, 52, 51, 30}) == Answers{false, false, false, false, false, true});
  // Among five or more the spread of the others counts.
  CHECK(slow_of({40, 43, 46, 49, 52, 55}) == Answers(6, false));
  CHECK(answers(find_slow(Speeds{50, 40}, Speeds{50, 51}, 0.05)) == Answers{false, false});
  CHECK(answers(find_slow(Speeds{50, 40}, Speeds{50, 40}, 0.25)) == Answers{false, false});
  CHECK(find_slow(Speeds{48, 30, 52, 50}, Speeds{48, 30, 52, 50}, 0.05)[1] == 50);
  CHECK(find_slow(Speeds{48, 30, 50}, Speeds{48, 30, 50}, 0.05)[1] == 48);
}
