// SPDX-License-Identifier: MIT
#include "accept/rates.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

using namespace hiptool;
using namespace hiptool::accept;

namespace {

StageMeasurement cell_at(const std::string& label, const std::string& device, double bytes_per_s,
                         double noise = 0.001) {
  StageMeasurement measured;
  measured.label = label;
  measured.id = label + "@" + device;
  measured.destination = device;
  measured.devices = {device};
  measured.size_bytes = 64u << 20;
  for (int i = -5; i <= 5; ++i) {
    measured.samples_s.push_back((1 + noise * i) * static_cast<double>(measured.size_bytes) /
                                 bytes_per_s);
  }
  measured.bytes_per_s = bytes_per_s;
  measured.median_s = measured.samples_s[5];
  measured.again = [] { return report::Measurement(); };
  return measured;
}

StageMeasurement pair_at(int from, int to, double bytes_per_s) {
  const std::string source = "nvidia:" + std::to_string(from);
  StageMeasurement measured = cell_at("p2p-write.copy.64MiB", source, bytes_per_s);
  measured.source = source;
  measured.destination = "nvidia:" + std::to_string(to);
  measured.devices = {measured.source, measured.destination};
  measured.id = measured.label + "@" + measured.source + ">" + measured.destination;
  return measured;
}

struct Judged {
  std::vector<RateFault> faults;
  ExpectationResults expectations;
  std::size_t repeats = 0;
};

/// A second measurement has `again` times the rate of the first.
Judged judge_cells(std::vector<StageMeasurement> measurements,
                   const Expectations* expectations = nullptr, double again = 1,
                   double spread = 0.05) {
  Judged judged;
  RateRules rules;
  rules.expectations = expectations;
  rules.spread = spread;
  for (int i = 0; i < 8; ++i) {
    rules.device_names["nvidia:" + std::to_string(i)] = "NVIDIA H200";
    rules.device_names["cpu:" + std::to_string(i)] = "a processor";
  }
  rules.device_names["nvidia:9"] = "NVIDIA L4";
  rules.again = [&](const StageMeasurement& measured) -> std::optional<report::Measurement> {
    ++judged.repeats;
    report::Measurement second = measured;
    second.bytes_per_s = again * *measured.bytes_per_s;
    for (double& sample : second.samples_s) sample /= again;
    return second;
  };
  judged.faults = judge_rates(measurements, rules, judged.expectations);
  return judged;
}

std::vector<StageMeasurement> eight(double slow_one) {
  std::vector<StageMeasurement> measurements;
  for (int i = 0; i < 8; ++i) {
    const double rate = i == 3 ? slow_one : 50e9 + 0.1e9 * i;
    measurements.push_back(cell_at("h2d.pinned.copy.64MiB", "nvidia:" + std::to_string(i), rate));
  }
  return measurements;
}

Expectations expectations_of(const std::string& label, double bytes_per_s,
                             std::size_t devices = 1) {
  Expectations expectations;
  expectations.path = "gpus.json";
  Expectation expectation;
  expectation.bytes_per_s = bytes_per_s;
  expectation.devices = devices;
  expectations.of_kind["NVIDIA H200"][label] = expectation;
  return expectations;
}

constexpr const char* h2d = "h2d.pinned.copy.64MiB";

}  // namespace

TEST_CASE("measurements for expectations only are not compared with their siblings") {
  std::vector<StageMeasurement> measurements = eight(20e9);
  for (StageMeasurement& measured : measurements) measured.is_for_expectations_only = true;
  CHECK(judge_cells(measurements).faults.empty());
  const Expectations expectations = expectations_of(h2d, 30e9);
  const Judged judged = judge_cells(measurements, &expectations);
  REQUIRE(judged.faults.size() == 1);
  CHECK(judged.faults[0].device == "nvidia:3");
  CHECK(judged.expectations.judged == 8);
}

TEST_CASE("of two siblings the slower one is named") {
  const Judged judged =
      judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:1", 40e9)});
  REQUIRE(judged.faults.size() == 1);
  CHECK(judged.faults[0].device == "nvidia:1");
  CHECK(judged.faults[0].fault.reason == "40.0 GB/s is 20 % below nvidia:0 with 50.0 GB/s");
  CHECK_FALSE(judged.faults[0].fault.error);
  CHECK_FALSE(judged.faults[0].fault.action.empty());
}

TEST_CASE("beside one that is fast the others are not slow") {
  CHECK(judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:1", 70e9),
                     cell_at(h2d, "nvidia:2", 50e9)})
            .faults.empty());
}

TEST_CASE("siblings may differ by the spread and by their own noise") {
  CHECK(
      judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:1", 48e9)}).faults.empty());
  CHECK(judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:1", 40e9)}, nullptr, 1,
                    0.25)
            .faults.empty());
  // Its samples reach the rate of the other.
  CHECK(judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:1", 40e9, 0.08)})
            .faults.empty());
}

TEST_CASE("one of eight is named, a scatter of all is not") {
  const Judged judged = judge_cells(eight(40e9));
  REQUIRE(judged.faults.size() == 1);
  CHECK(judged.faults[0].device == "nvidia:3");
  CHECK(judged.faults[0].fault.reason.find("its 7 siblings") != std::string::npos);
  std::vector<StageMeasurement> scattered;
  for (int i = 0; i < 8; ++i) {
    scattered.push_back(cell_at(h2d, "nvidia:" + std::to_string(i), 40e9 + 2e9 * i));
  }
  CHECK(judge_cells(scattered).faults.empty());
}

TEST_CASE("other kinds and the processor have no siblings") {
  CHECK(
      judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:9", 40e9)}).faults.empty());
  CHECK(judge_cells({cell_at(h2d, "cpu:0", 50e9), cell_at(h2d, "cpu:1", 4e9)}).faults.empty());
  CHECK(judge_cells(
            {cell_at(h2d, "nvidia:0", 50e9), cell_at("d2h.pinned.copy.64MiB", "nvidia:1", 4e9)})
            .faults.empty());
}

TEST_CASE("a second measurement that is fast counts") {
  const Judged judged =
      judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:1", 40e9)}, nullptr, 1.25);
  CHECK(judged.faults.empty());
  CHECK(judged.repeats == 1);
  CHECK(judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:1", 50e9)}).repeats == 0);
}

TEST_CASE("a latency is slow where it is longer") {
  std::vector<StageMeasurement> measurements{cell_at("launch.u32", "nvidia:0", 1),
                                             cell_at("launch.u32", "nvidia:1", 1)};
  for (std::size_t i = 0; i < 2; ++i) {
    measurements[i].bytes_per_s.reset();
    measurements[i].median_s = i == 0 ? 2e-6 : 4e-6;
    measurements[i].samples_s = {*measurements[i].median_s};
  }
  RateRules rules;
  rules.device_names = {{"nvidia:0", "NVIDIA H200"}, {"nvidia:1", "NVIDIA H200"}};
  rules.again = [](const StageMeasurement&) { return std::nullopt; };
  ExpectationResults results;
  const std::vector<RateFault> faults = judge_rates(measurements, rules, results);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].device == "nvidia:1");
}

TEST_CASE("between two GPUs the directions are compared, and pairs are not") {
  CHECK(judge_cells(
            {pair_at(0, 1, 20e9), pair_at(1, 0, 20e9), pair_at(0, 2, 200e9), pair_at(2, 0, 200e9)})
            .faults.empty());
  const Judged judged = judge_cells({pair_at(0, 1, 20e9), pair_at(1, 0, 10e9)});
  REQUIRE(judged.faults.size() == 1);
  CHECK(judged.faults[0].fault.what == "p2p-write.copy.64MiB@nvidia:1>nvidia:0");
  CHECK(judged.faults[0].fault.reason ==
        "10.0 GB/s is 50 % below the other direction with 20.0 GB/s");
}

TEST_CASE("half of the limit is the least") {
  struct Case {
    const char* label;
    double share;
    std::size_t faults;
  };
  for (const Case& one : {Case{h2d, 0.49, 1}, Case{h2d, 0.5, 0},
                          Case{"stream-triad.f32.64MiB", 0.4, 1}, Case{"gemm.f16.64MiB", 0.1, 0}}) {
    StageMeasurement measured = cell_at(one.label, "nvidia:0", 50e9);
    measured.share_of_limit = one.share;
    measured.limit_source = "pcie-link";
    CAPTURE(one.label);
    CHECK(judge_cells({measured}).faults.size() == one.faults);
    measured.size_bytes = 1u << 20;  // a matter of latency
    CHECK(judge_cells({measured}).faults.empty());
  }
}

TEST_CASE("expectations") {
  const Expectations expectations = expectations_of(h2d, 48e9);
  const Judged met = judge_cells({cell_at(h2d, "nvidia:0", 48e9)}, &expectations);
  CHECK(met.faults.empty());
  CHECK(met.expectations.judged == 1);
  const Judged missed = judge_cells({cell_at(h2d, "nvidia:0", 47.9e9)}, &expectations);
  REQUIRE(missed.faults.size() == 1);
  CHECK(missed.faults[0].fault.reason == "47.9 GB/s, at least 48.0 GB/s expected by gpus.json");
  CHECK(missed.repeats == 1);
  const Expectations of_two = expectations_of(h2d, 48e9, 2);
  CHECK(judge_cells({cell_at(h2d, "nvidia:0", 1e9)}, &of_two).faults.empty());
}

TEST_CASE("what an expectation is for must be measured") {
  const Expectations expectations = expectations_of("p2p-write.copy.64MiB", 48e9, 2);
  StageMeasurement skipped = pair_at(0, 1, 48e9);
  skipped.status = report::Status::skipped;
  skipped.reason = "no access";
  skipped.bytes_per_s.reset();
  const Judged judged = judge_cells({skipped}, &expectations);
  REQUIRE(judged.faults.size() == 1);
  CHECK(judged.faults[0].device == "nvidia:0");
  CHECK(judge_cells({skipped}).faults.empty());
}
