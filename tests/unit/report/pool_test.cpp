// SPDX-License-Identifier: MIT
#include "report/pool.hpp"

#include <doctest/doctest.h>

#include "report/compare.hpp"
#include "report/document.hpp"

using namespace hiptool::report;
using doctest::Approx;
using doctest::Contains;
using hiptool::base::Verdict;

namespace {

constexpr double bytes = 1e9;

// Of 1 GB, whose samples lie around the median time.
Measurement copy_of(double median_s, Status status = Status::ok) {
  Measurement one;
  one.id = "h2d.pinned.copy.1GB@nvidia:0";
  one.set_names();
  one.status = status;
  if (status == Status::failed) one.reason = "lost";
  for (int i = -4; i <= 4; ++i) one.samples_s.push_back(median_s * (1 + 0.001 * i));
  one.median_s = median_s;
  one.bytes_per_s = bytes / median_s;
  one.limit_bytes_per_s = 60e9;
  one.share_of_limit = *one.bytes_per_s / 60e9;
  one.details = {{"cv", 0.01}};
  return one;
}

std::vector<std::vector<Measurement>> runs_of(const std::vector<double>& medians) {
  std::vector<std::vector<Measurement>> runs;
  for (const double median : medians) runs.push_back({copy_of(median)});
  return runs;
}

RunFile file_of(const std::vector<double>& medians) {
  RunFile file;
  file.run.command = "bench-copy";
  for (const PooledMeasurement& one : pool_measurements(runs_of(medians))) {
    file.measurements.push_back(one.measured);
  }
  return file;
}

Comparison only(const RunComparison& compared) {
  REQUIRE(compared.comparisons.size() == 1);
  return compared.comparisons.front();
}

const std::vector<double> five{0.02000, 0.02012, 0.01994, 0.02004, 0.01998};
const std::vector<double> slower{0.02042, 0.02050, 0.02036, 0.02062, 0.02044};

}  // namespace

TEST_CASE("pool: all samples by process, the median of medians, and rates that follow it") {
  const auto pooled = pool_measurements(runs_of({0.020, 0.022, 0.021, 0.030}));
  REQUIRE(pooled.size() == 1);
  const Measurement& one = pooled[0].measured;
  CHECK(one.samples_s.size() == 36);
  CHECK(one.process_samples == std::vector<std::size_t>{9, 9, 9, 9});
  CHECK(process_medians(one) == std::vector<double>{0.020, 0.022, 0.021, 0.030});
  CHECK(*one.median_s == Approx(0.0215));
  CHECK(*one.bytes_per_s == Approx(bytes / 0.0215));
  CHECK(*one.share_of_limit == Approx(bytes / 0.0215 / 60e9));
  CHECK(*one.low_bytes_per_s == Approx(bytes / hiptool::base::quantile(one.samples_s, 0.95)));
  CHECK(pooled[0].run == 2);  // the middle one
}

TEST_CASE("pool: a process that failed is what the measurement shows") {
  auto runs = runs_of({0.020, 0.021});
  runs.push_back({copy_of(0.021, Status::failed)});
  runs.back().front().samples_s.clear();
  const auto pooled = pool_measurements(runs);
  REQUIRE(pooled.size() == 1);
  CHECK(pooled[0].measured.status == Status::failed);
  CHECK(pooled[0].measured.reason == "lost");
  CHECK(pooled[0].measured.process_samples.size() == 2);
  CHECK(pooled[0].run == 2);
}

TEST_CASE("pool: documents keep what only their command has, and are read back by process") {
  const auto pooled = pool_measurements(runs_of({0.020, 0.022, 0.021}));
  Object document{{"measurements", Array{Object(measurement_value(copy_of(0.021)))}}};
  const Value value = pooled_value(document, pooled.front());
  CHECK(number_of(member(member(value, "details"), "cv")) == 0.01);
  const Measurement again = read_measurement(value);
  CHECK(again.process_samples == std::vector<std::size_t>{9, 9, 9});
  CHECK(process_medians(again) == process_medians(pooled[0].measured));
  CHECK(again.median_s == pooled[0].measured.median_s);
  // Counts that are not those of the samples are not believed.
  Object damaged = measurement_value(pooled[0].measured);
  for (auto& [key, field] : damaged) {
    if (key == "process_samples") field = Array{std::uint64_t{9}, std::uint64_t{99}};
  }
  CHECK(read_measurement(damaged).process_samples.empty());
  CHECK(pooled_value({}, pooled.front()).is_absent());
}

TEST_CASE("compare: the noise between processes decides, not the number of samples") {
  // Sample by sample 2 % would be beyond doubt.
  const RunFile before = file_of(five);
  const Comparison by_noise = only(compare_runs(before, file_of(slower), std::nullopt));
  CHECK(by_noise.times.verdict == Verdict::slower);
  CHECK(*by_noise.decidable_effect > 0.005);
  CHECK(*by_noise.decidable_effect < 0.02);
  CHECK(by_noise.ignored.high == *by_noise.decidable_effect);
  CHECK(by_noise.before.processes == 5);
  CHECK(only(compare_runs(before, file_of(slower), 0.03)).times.verdict == Verdict::same);
  CHECK(only(compare_runs(before, before, std::nullopt)).times.verdict == Verdict::same);
  const RunFile noisy = file_of({0.0195, 0.0206, 0.0201, 0.0199, 0.0204});
  CHECK(only(compare_runs(noisy, file_of(slower), 0.01)).times.verdict == Verdict::ambiguous);
}

TEST_CASE("compare: AMBIGUOUS says how many repeats would decide, and fails where that is strict") {
  RunComparison compared = compare_runs(file_of(five), file_of(slower), 0.02);
  const Comparison one = only(compared);
  CHECK(one.times.verdict == Verdict::ambiguous);
  REQUIRE(one.repeats_to_decide);
  CHECK(
      one.reason.c_str() ==
      Contains(
          (std::to_string(*one.repeats_to_decide) + " repeats on each side would decide").c_str()));
  CHECK(compared.failures().empty());
  compared.is_strict = true;
  REQUIRE(compared.failures().size() == 1);
  CHECK(compared.failures()[0].what == one.id);
  CHECK(compared.failures()[0].reason == one.reason);
}

TEST_CASE("compare: without repeats auto says that they are needed") {
  RunFile single;
  single.run.command = "bench-copy";
  single.measurements = {copy_of(0.02)};
  const Comparison one = only(compare_runs(single, single, std::nullopt));
  CHECK(one.times.verdict == Verdict::ambiguous);
  CHECK(one.reason.c_str() == Contains("measure with --repeat 3 or more"));
  CHECK_FALSE(one.decidable_effect);
  CHECK(only(compare_runs(single, single, 0.03)).times.verdict == Verdict::same);
  const Comparison few =
      only(compare_runs(file_of({0.02, 0.0201}), file_of({0.02, 0.0201}), std::nullopt));
  CHECK(few.times.verdict == Verdict::ambiguous);
  const Comparison uneven = only(compare_runs(single, file_of({0.02, 0.0201}), std::nullopt));
  CHECK(uneven.reason.c_str() == Contains("1 and 2 processes in the old and the new run"));
  // A process without samples says nothing of the noise.
  RunFile with_empty = single;
  with_empty.measurements.front().process_samples = {
      with_empty.measurements.front().samples_s.size(), 0};
  const Comparison empty = only(compare_runs(with_empty, with_empty, 0.03));
  CHECK(empty.times.verdict == Verdict::same);
  CHECK(empty.before.processes == 1);
  CHECK_FALSE(empty.decidable_effect);
  CHECK(few.reason.c_str() == Contains("2 and 2 processes in the old and the new run"));
  // One side is enough to know the noise.
  CHECK(only(compare_runs(file_of(five), single, std::nullopt)).times.verdict == Verdict::same);
}

TEST_CASE("compare: the smallest and the largest effect that can be decided are said") {
  CHECK(decidable_text(compare_runs(file_of(five), file_of(five), 0.03).comparisons).c_str() ==
        Contains("smallest effect that the noise can decide: "));
  RunFile single;
  single.run.command = "bench-copy";
  single.measurements = {copy_of(0.02)};
  CHECK(decidable_text(compare_runs(single, single, 0.03).comparisons) == "");
}
