// SPDX-License-Identifier: MIT
#include "base/process_times.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace hiptool::base;
using doctest::Approx;

namespace {

using Times = std::vector<double>;

// The noise of h2d on an H100: within a process and between processes, as shares.
struct NoiseModel {
  double within = 0;
  double between = 0;
};
constexpr NoiseModel h2d_noise{0.003, 0.005};
constexpr NoiseModel d2h_noise{0.01, 0.05};
constexpr NoiseModel short_call_noise{0.1, 0.25};

// Medians of so many processes of 20 samples each, of a program that takes `factor` times as long.
Times simulate(const NoiseModel& noise, std::size_t processes, double factor,
               std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Times medians;
  for (std::size_t i = 0; i < processes; ++i) {
    const double of_process = factor * std::exp(noise.between * normal(random));
    Times samples;
    for (int k = 0; k < 20; ++k)
      samples.push_back(of_process * std::exp(noise.within * normal(random)));
    medians.push_back(median(samples));
  }
  return medians;
}

// How many of that many comparisons have that verdict.
int count_verdicts(const NoiseModel& noise, std::size_t processes, double factor, Verdict wanted,
                   int comparisons) {
  std::mt19937_64 random(20261127);
  int found = 0;
  for (int i = 0; i < comparisons; ++i) {
    const Times before = simulate(noise, processes, 1, random);
    const Times after = simulate(noise, processes, factor, random);
    found += compare_processes(before, after, std::nullopt).times.verdict == wanted;
  }
  return found;
}

const Times five{10.00, 10.06, 9.97, 10.02, 9.99};

}  // namespace

// scipy 1.16: scipy.stats.t.ppf(probability, degrees).
TEST_CASE("Student's t: quantiles as scipy has them, also for degrees that are not whole") {
  struct Case {
    double degrees, at_975, at_90;
  };
  for (const Case& one : {Case{1, 12.706204736174694, 3.0776835371752544},
                          Case{2, 4.302652729749462, 1.8856180831641272},
                          Case{2.5, 3.5746548420036817, 1.7302509288071766},
                          Case{4.7, 2.62072607535317, 1.4901550815168034},
                          Case{8, 2.306004135204166, 1.3968153097438654},
                          Case{18, 2.1009220402410382, 1.3303909435699093},
                          Case{198, 1.9720174778363146, 1.2858418415765887}}) {
    CAPTURE(one.degrees);
    CHECK(student_t_quantile(0.975, one.degrees) == Approx(one.at_975).epsilon(1e-9));
    CHECK(student_t_quantile(0.9, one.degrees) == Approx(one.at_90).epsilon(1e-9));
    CHECK(student_t_quantile(0.025, one.degrees) == Approx(-one.at_975).epsilon(1e-9));
  }
  for (const double bad : {0.0, 1.0, std::nan("")}) CHECK(std::isnan(student_t_quantile(bad, 3)));
  CHECK(std::isnan(student_t_quantile(0.9, 0)));
}

// scipy.stats.ttest_ind(log(after), log(before), equal_var=False).confidence_interval(0.95), and
// expm1 of that.
TEST_CASE("processes: the interval is Welch's of the logarithms") {
  const Times slower{10.21, 10.25, 10.18, 10.31, 10.22, 10.19, 10.28};
  const ProcessComparison found = compare_processes(five, slower, Interval{-0.01, 0.01});
  CHECK(found.times.change == Approx(0.02260566395807817).epsilon(1e-9));
  CHECK(found.times.interval.low == Approx(0.01729467018816135).epsilon(1e-9));
  CHECK(found.times.interval.high == Approx(0.027944384851365137).epsilon(1e-9));
  CHECK(found.decidable_effect == Approx(0.010468662596289815).epsilon(1e-9));
  CHECK(found.times.verdict == Verdict::slower);
  CHECK_FALSE(found.repeats_to_decide);
  CHECK(compare_processes(slower, five, Interval{-0.01, 0.01}).times.verdict == Verdict::faster);
  CHECK(compare_processes(five, slower, Interval{-0.03, 0.03}).times.verdict == Verdict::same);
}

TEST_CASE("processes: a single one is as noisy as those that it is compared with") {
  const ProcessComparison found = compare_processes(five, Times{10.3}, Interval{-0.01, 0.01});
  CHECK(found.times.change == Approx(0.02918146203008946).epsilon(1e-9));
  CHECK(found.times.interval.low == Approx(0.018547598985031152).epsilon(1e-9));
  CHECK(found.times.interval.high == Approx(0.039926344965994044).epsilon(1e-9));
  const ProcessComparison other = compare_processes(Times{10.3}, five, Interval{-0.01, 0.01});
  CHECK(other.times.interval.high == Approx(1 / 1.018547598985031152 - 1).epsilon(1e-9));
}

// The loop of /usr/bin/python3 over n with scipy.stats.t.ppf(0.975, 2 n - 2) s sqrt(2 / n).
TEST_CASE("processes: an ambiguous change says how many would decide it") {
  const Times between{10.15, 10.25, 10.19, 10.22, 10.05};
  const ProcessComparison wide = compare_processes(five, between, Interval{-0.02, 0.02});
  CHECK(wide.times.verdict == Verdict::ambiguous);
  CHECK(wide.repeats_to_decide == 23u);
  CHECK(compare_processes(five, between, Interval{-0.0173, 0.0173}).repeats_to_decide == 322u);
  const double edge = wide.times.change;  // no number of processes tells that from itself
  CHECK_FALSE(compare_processes(five, between, Interval{-edge, edge}).repeats_to_decide);
  const ProcessComparison by_noise = compare_processes(five, between, std::nullopt);
  CHECK(by_noise.times.verdict == Verdict::ambiguous);
  CHECK(by_noise.ignored.high == Approx(0.018886085988665622).epsilon(1e-9));
  CHECK(by_noise.repeats_to_decide == 11u);
}

// Times whose logarithms have exactly that mean and standard deviation: one above and one below for
// each pair, and of an odd number one in the middle.
Times exact_times(std::size_t count, double mean, double deviation) {
  const auto pairs = static_cast<double>(count / 2 * 2);
  const double distance = deviation * std::sqrt((static_cast<double>(count) - 1) / pairs);
  Times times;
  for (std::size_t i = 0; i + 1 < count; i += 2) {
    times.push_back(std::exp(mean - distance));
    times.push_back(std::exp(mean + distance));
  }
  if (count % 2 == 1) times.push_back(std::exp(mean));
  return times;
}

TEST_CASE("processes: as many repeats as are advised decide, with one fewer they do not") {
  struct Case {
    double shift, deviation, effect;
    std::size_t processes;
  };
  for (const Case& one :
       {Case{-0.01, 0.5, 0.5, 10}, Case{-0.01, 0.3, 0.2, 12}, Case{-0.004, 0.06, 0.05, 10},
        Case{0, 0.03, 0.03, 5}, Case{0.02, 0.03, 0.03, 6}, Case{0.05, 0.03, 0.03, 6}}) {
    CAPTURE(one.shift);
    CAPTURE(one.effect);
    const auto compared = [&one](std::size_t count) {
      return compare_processes(exact_times(count, 0, one.deviation),
                               exact_times(count, one.shift, one.deviation),
                               Interval{-one.effect, one.effect});
    };
    const auto advice = compared(one.processes).repeats_to_decide;
    REQUIRE(advice);
    CHECK(compared(*advice).times.verdict != Verdict::ambiguous);
    CHECK(compared(*advice - 1).times.verdict == Verdict::ambiguous);
  }
}

TEST_CASE("processes without any noise decide every change") {
  const Times flat{1, 1, 1};
  CHECK(compare_processes(flat, flat, std::nullopt).times.verdict == Verdict::same);
  CHECK(compare_processes(flat, Times{2, 2, 2}, std::nullopt).times.verdict == Verdict::slower);
}

TEST_CASE("processes: 2 % of h2d are found in 20 of 20, and equal programs never called slower") {
  CHECK(count_verdicts(h2d_noise, 16, 1.02, Verdict::slower, 20) == 20);
  CHECK(count_verdicts(h2d_noise, 16, 1 / 1.02, Verdict::faster, 20) == 20);
  CHECK(count_verdicts(h2d_noise, 16, 1, Verdict::slower, 100) == 0);
  CHECK(count_verdicts(h2d_noise, 16, 1, Verdict::faster, 100) == 0);
  CHECK(count_verdicts(h2d_noise, 16, 1, Verdict::same, 100) >= 90);
}

TEST_CASE("processes: of noisier copies and calls twice the decidable effect is found") {
  for (const NoiseModel& noise : {d2h_noise, short_call_noise}) {
    CAPTURE(noise.between);
    CHECK(count_verdicts(noise, 16, 1, Verdict::slower, 100) == 0);
    std::mt19937_64 random(7);
    double effect = 0;
    for (int i = 0; i < 100; ++i) {
      effect += compare_processes(simulate(noise, 16, 1, random), simulate(noise, 16, 1, random),
                                  std::nullopt)
                    .decidable_effect /
                100;
    }
    // 7.5 % of d2h, 43 % of short calls.
    CHECK(effect ==
          Approx(std::expm1(2 * 2.042 * noise.between * std::sqrt(2.0 / 16))).epsilon(0.05));
    CHECK(count_verdicts(noise, 16, (1 + effect) * (1 + effect), Verdict::slower, 100) >= 90);
  }
}

TEST_CASE(
    "processes: alternating ones find 2 % of copies that vary by 1.1 %, without false alarms") {
  std::mt19937_64 random(20261128);
  const NoiseModel noise{0.003, 0.011};
  int slower = 0, faster = 0, alarms = 0, same = 0;
  constexpr int comparisons = 200;
  for (int i = 0; i < comparisons; ++i) {
    const auto verdict = [&](double factor) {
      const Times before = simulate(noise, 16, 1, random);
      const Times after = simulate(noise, 16, factor, random);
      return compare_processes(before, after, std::nullopt, ProcessOrder::alternating)
          .times.verdict;
    };
    slower += verdict(1.02) == Verdict::slower;
    faster += verdict(1 / 1.02) == Verdict::faster;
    const Verdict equal = verdict(1);
    alarms += equal == Verdict::slower;
    same += equal == Verdict::same;
  }
  CHECK(slower >= 190);
  CHECK(faster >= 190);
  CHECK(alarms <= 2);
  CHECK(same >= 180);
}

TEST_CASE("processes: a drift of 3 % over the run is no change of alternating ones") {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 100; ++i) {
    Times before, after, slower;
    for (int k = 0; k < 32; ++k) {
      const double time = std::exp(0.03 * k / 31 + 0.003 * normal(random));
      const bool is_old = (k / 2 % 2 == 0) == (k % 2 == 0);
      (is_old ? before : after).push_back(time);
      if (!is_old) slower.push_back(time * 1.02);
    }
    const auto verdict = [&](const Times& now) {
      return compare_processes(before, now, std::nullopt, ProcessOrder::alternating).times.verdict;
    };
    CHECK(verdict(after) == Verdict::same);
    CHECK(verdict(slower) == Verdict::slower);
  }
}

TEST_CASE("processes: of alternating ones less than half a percent is the same") {
  const auto compared = [](const Times& after) {
    return compare_processes(Times{1, 1.0001, 0.9999, 1}, after, std::nullopt,
                             ProcessOrder::alternating);
  };
  CHECK(compared({1.004, 1.0041, 1.0039, 1.004}).times.verdict == Verdict::same);
  const ProcessComparison slower = compared({1.006, 1.0061, 1.0059, 1.006});
  CHECK(slower.times.verdict == Verdict::slower);
  CHECK(slower.ignored.high == Approx(least_auto_effect));
  // No smaller effect is ever decided, however little noise there is.
  CHECK(slower.decidable_effect == 0.005);
  CHECK(compared({0.994, 0.9941, 0.9939, 0.994}).times.verdict == Verdict::faster);
  CHECK(compare_processes(Times{1, 1, 1}, Times{1, 1, 1}, std::nullopt, ProcessOrder::alternating)
            .times.verdict == Verdict::same);
  // Between what is the same and a change: more processes decide.
  const ProcessComparison between = compare_processes(
      five, Times{10.10, 10.06, 10.13, 10.04, 10.02}, std::nullopt, ProcessOrder::alternating);
  CHECK(between.times.verdict == Verdict::ambiguous);
  CHECK(between.repeats_to_decide.value_or(0) > 5);
  CHECK(between.repeats_to_decide.value_or(99) < 12);
}
