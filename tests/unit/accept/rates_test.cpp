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

/// Each further measurement has `again` times the rate of the one before.
Judged judge_cells(std::vector<StageMeasurement> measurements,
                   const Expectations* expectations = nullptr, double again = 1,
                   double spread = 0.1, int gpus = 8) {
  Judged judged;
  RateRules rules;
  rules.expectations = expectations;
  rules.spread = spread;
  for (int i = 0; i < gpus; ++i) rules.devices["nvidia:" + std::to_string(i)].name = "NVIDIA H200";
  for (int i = 0; i < 8; ++i) rules.devices["cpu:" + std::to_string(i)].name = "a processor";
  rules.devices["nvidia:9"].name = "NVIDIA L4";
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

TEST_CASE("of three siblings the slow one is named") {
  const std::vector<StageMeasurement> three{cell_at(h2d, "nvidia:0", 50e9),
                                            cell_at(h2d, "nvidia:1", 40e9),
                                            cell_at(h2d, "nvidia:2", 51e9)};
  const Judged judged = judge_cells(three);
  REQUIRE(judged.faults.size() == 1);
  CHECK(judged.faults[0].device == "nvidia:1");
  CHECK(judged.faults[0].fault.reason == "40.0 GB/s is 20 % below its 2 siblings with 50.0 GB/s");
  CHECK_FALSE(judged.faults[0].fault.error);
  CHECK_FALSE(judged.faults[0].fault.action.empty());
}

TEST_CASE("of two GPUs nobody knows which one is right") {
  CHECK(judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:1", 30e9)}, nullptr, 1,
                    0.1, 2)
            .faults.empty());
  CHECK(judge_cells({pair_at(0, 1, 20e9), pair_at(1, 0, 10e9)}, nullptr, 1, 0.1, 2).faults.empty());
}

TEST_CASE("beside one that is fast the others are not slow") {
  CHECK(judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:1", 70e9),
                     cell_at(h2d, "nvidia:2", 50e9)})
            .faults.empty());
}

TEST_CASE("siblings may differ by the spread and by their own noise") {
  const auto third = [](double rate, double noise = 0.001) {
    return std::vector<StageMeasurement>{cell_at(h2d, "nvidia:0", 50e9),
                                         cell_at(h2d, "nvidia:1", 50e9),
                                         cell_at(h2d, "nvidia:2", rate, noise)};
  };
  CHECK(judge_cells(third(45.1e9)).faults.empty());
  CHECK(judge_cells(third(44.9e9)).faults.size() == 1);
  CHECK(judge_cells(third(40e9), nullptr, 1, 0.25).faults.empty());
  // Its samples reach the rate of the others.
  CHECK(judge_cells(third(40e9, 0.08)).faults.empty());
}

TEST_CASE("one of eight is named, 12 % below the others as well") {
  for (const double rate : {40e9, 0.88 * 50.4e9}) {
    const Judged judged = judge_cells(eight(rate));
    REQUIRE(judged.faults.size() == 1);
    CHECK(judged.faults[0].device == "nvidia:3");
    CHECK(judged.faults[0].fault.reason.find("its 7 siblings") != std::string::npos);
  }
  CHECK(judge_cells(eight(0.91 * 50.4e9)).faults.empty());
}

TEST_CASE("several of eight are named, each against those that are left") {
  std::vector<StageMeasurement> measurements = eight(40e9);
  measurements[6] = cell_at(h2d, "nvidia:6", 41e9);
  measurements[7] = cell_at(h2d, "nvidia:7", 38e9);
  const Judged judged = judge_cells(measurements);
  REQUIRE(judged.faults.size() == 3);
  CHECK(judged.faults[0].device == "nvidia:3");
  CHECK(judged.faults[1].device == "nvidia:6");
  CHECK(judged.faults[2].device == "nvidia:7");
}

TEST_CASE("other kinds and the processor have no siblings") {
  CHECK(
      judge_cells({cell_at(h2d, "nvidia:0", 50e9), cell_at(h2d, "nvidia:9", 40e9)}).faults.empty());
  CHECK(judge_cells({cell_at(h2d, "cpu:0", 50e9), cell_at(h2d, "cpu:1", 4e9)}).faults.empty());
  CHECK(judge_cells(
            {cell_at(h2d, "nvidia:0", 50e9), cell_at("d2h.pinned.copy.64MiB", "nvidia:1", 4e9)})
            .faults.empty());
}

TEST_CASE("a slow one is measured three times more before it refuses, until one is fast enough") {
  const std::vector<StageMeasurement> three{cell_at(h2d, "nvidia:0", 50e9),
                                            cell_at(h2d, "nvidia:1", 40e9),
                                            cell_at(h2d, "nvidia:2", 50e9)};
  const auto with = [&](double again) { return judge_cells(three, nullptr, again); };
  CHECK(with(1).faults.size() == 1);
  CHECK(with(1).repeats == 3 + 2);  // and the other two once
  CHECK(with(1.25).faults.empty());
  CHECK(with(1.25).repeats == 1);
  CHECK(with(1.05).faults.empty());  // 40, 42, 44.1, 46.3
  CHECK(with(1.05).repeats == 3);
  CHECK(with(0.9).faults.size() == 1);
  CHECK(judge_cells(eight(50e9)).repeats == 0);
}

TEST_CASE("before one is refused its siblings are measured again, and their means count") {
  std::vector<StageMeasurement> three{cell_at(h2d, "nvidia:0", 50e9),
                                      cell_at(h2d, "nvidia:1", 44e9),
                                      cell_at(h2d, "nvidia:2", 50e9)};
  RateRules rules;
  for (const StageMeasurement& one : three) rules.devices[one.devices[0]].name = "NVIDIA H200";
  rules.again = [&](const StageMeasurement& measured) -> std::optional<report::Measurement> {
    report::Measurement second = measured;
    if (measured.devices[0] != "nvidia:1") second.bytes_per_s = 45e9;
    return second;
  };
  ExpectationResults results;
  CHECK(judge_rates(three, rules, results).empty());  // 44 is 7 % below 47.5
}

TEST_CASE("one that is the slowest after a repeat of another is measured again as well") {
  std::vector<StageMeasurement> measurements = eight(43e9);
  measurements[5] = cell_at(h2d, "nvidia:5", 44e9);
  std::vector<std::string> repeated;
  RateRules rules;
  for (const StageMeasurement& one : measurements) rules.devices[one.devices[0]].name = "H200";
  rules.again = [&](const StageMeasurement& measured) -> std::optional<report::Measurement> {
    repeated.push_back(measured.devices[0]);
    report::Measurement second = measured;
    second.stage.clear();
    second.bytes_per_s = 50e9;
    return second;
  };
  for (StageMeasurement& one : measurements) one.stage = "copy";
  ExpectationResults results;
  CHECK(judge_rates(measurements, rules, results).empty());
  CHECK(measurements[3].stage == "copy");
  CHECK(repeated == std::vector<std::string>{"nvidia:3", "nvidia:5"});
}

TEST_CASE("a latency is slow where it is longer") {
  std::vector<StageMeasurement> measurements{cell_at("launch.u32", "nvidia:0", 1),
                                             cell_at("launch.u32", "nvidia:1", 1),
                                             cell_at("launch.u32", "nvidia:2", 1)};
  for (std::size_t i = 0; i < 3; ++i) {
    measurements[i].bytes_per_s.reset();
    measurements[i].median_s = i == 1 ? 4e-6 : 2e-6;
    measurements[i].samples_s = {*measurements[i].median_s};
  }
  RateRules rules;
  for (const char* const id : {"nvidia:0", "nvidia:1", "nvidia:2"})
    rules.devices[id].name = "NVIDIA H200";
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

TEST_CASE("a PCIe link that carries less than half of its slot is slow, whatever the rate") {
  StageMeasurement copy = cell_at(h2d, "nvidia:9", 12e9);  // of a model without published rates
  copy.limit_source = "pcie-link";
  copy.share_of_limit = 0.76;
  copy.limit_bytes_per_s = 15.75e9;
  copy.path_bytes_per_s = 31.5e9;
  CHECK(judge_cells({copy}).faults.empty());
  copy.path_bytes_per_s = 63e9;
  const Judged judged = judge_cells({copy});
  REQUIRE(judged.faults.size() == 1);
  CHECK(judged.faults[0].fault.code == "HT-COPY-LIMIT");
  CHECK(judged.faults[0].fault.reason == "12.0 GB/s: its PCIe link carries 15.8 GB/s of 63.0 GB/s");
}

TEST_CASE("expectations") {
  const Expectations expectations = expectations_of(h2d, 48e9);
  const Judged met = judge_cells({cell_at(h2d, "nvidia:0", 48e9)}, &expectations);
  CHECK(met.faults.empty());
  CHECK(met.expectations.judged == 1);
  const Judged missed = judge_cells({cell_at(h2d, "nvidia:0", 47.9e9)}, &expectations);
  REQUIRE(missed.faults.size() == 1);
  CHECK(missed.faults[0].fault.reason == "47.9 GB/s, at least 48.0 GB/s expected by gpus.json");
  CHECK(missed.repeats == 3);
  // 2 % below is no reason to take a machine apart.
  CHECK(missed.faults[0].fault.action.find("replace") == std::string::npos);
  const Judged far = judge_cells({cell_at(h2d, "nvidia:0", 20e9)}, &expectations);
  CHECK(far.faults[0].fault.action.find("replace") != std::string::npos);
  const Expectations of_two = expectations_of(h2d, 48e9, 2);
  CHECK(judge_cells({cell_at(h2d, "nvidia:0", 1e9)}, &of_two).faults.empty());
}

TEST_CASE("wrong data and failed calls of a repeat are faults, of siblings too") {
  const auto repeat_with = [](const std::string& device, report::Status status) {
    std::vector<StageMeasurement> three{cell_at(h2d, "nvidia:0", 50e9),
                                        cell_at(h2d, "nvidia:1", 40e9),
                                        cell_at(h2d, "nvidia:2", 50e9)};
    RateRules rules;
    for (StageMeasurement& one : three) {
      rules.devices[one.devices[0]].name = "NVIDIA H200";
      one.stage = "copy";
      one.wrong_data_action = "reseat it";
    }
    rules.again = [&](const StageMeasurement& measured) -> std::optional<report::Measurement> {
      report::Measurement second = measured;
      if (measured.devices[0] != device) return second;
      second.status = status;
      second.wrong = report::WrongData{};
      second.wrong->count = 7;
      second.bytes_per_s = 60e9;
      return second;
    };
    ExpectationResults results;
    std::vector<RateFault> faults = judge_rates(three, rules, results);
    REQUIRE(!faults.empty());
    CHECK(faults[0].device == device);
    const auto changed = static_cast<std::size_t>(device.back() - '0');
    CHECK(three[changed].status == status);
    CHECK(three[changed].stage == "copy");
    return faults;
  };
  const std::vector<RateFault> wrong = repeat_with("nvidia:1", report::Status::mismatch);
  CHECK(wrong.size() == 1);  // it has no rate any more
  CHECK(wrong[0].fault.code == "HT-COPY-DATA");
  CHECK(exit_code_of(wrong[0].fault) == 5);
  CHECK(wrong[0].fault.reason == "7 values wrong");
  CHECK(wrong[0].fault.action == "reseat it");
  const std::vector<RateFault> failed = repeat_with("nvidia:1", report::Status::failed);
  CHECK(exit_code_of(failed[0].fault) == 6);
  const std::vector<RateFault> sibling = repeat_with("nvidia:2", report::Status::mismatch);
  CHECK(sibling[0].fault.code == "HT-COPY-DATA");
}

TEST_CASE("a file of 0.2.0 expects a rate of copies of 64 MiB, which those of 256 MiB meet") {
  const Expectations expectations = expectations_of(h2d, 60e9);
  StageMeasurement copy = cell_at("h2d.pinned.copy.256MiB", "nvidia:0", 50e9);
  copy.series = "h2d.pinned.copy";
  copy.size_bytes = 256u << 20;
  copy.stage = "copy";
  CHECK(judge_cells({copy}, &expectations).faults.size() == 1);
}

TEST_CASE("an expectation of another figure judges nothing") {
  Expectations expectations = expectations_of(h2d, 1);
  Expectation& expectation = expectations.of_kind["NVIDIA H200"][h2d];
  expectation.bytes_per_s.reset();
  expectation.flops_per_s = 60e9;
  const Judged judged = judge_cells({cell_at(h2d, "nvidia:0", 50e9)}, &expectations);
  CHECK(judged.faults.empty());
  CHECK(judged.expectations.judged == 0);
}

TEST_CASE("a short call meets an expectation with its fastest samples") {
  const Expectations expectations = expectations_of("matmul.f16.64x64x64.cublas", 48e9);
  for (const double median_s : {50e-6, 200e-6}) {
    StageMeasurement call = cell_at("matmul.f16.64x64x64.cublas", "nvidia:0", 45e9, 0.02);
    call.library = "cublas";
    call.is_for_expectations_only = true;
    const double scale = median_s / *call.median_s;
    for (double& sample : call.samples_s) sample *= scale;
    call.median_s = median_s;
    CHECK(judge_cells({call}, &expectations).faults.size() == (median_s < 100e-6 ? 0 : 1));
  }
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
