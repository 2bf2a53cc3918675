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

CheckCell cell_at(const std::string& label, const std::string& device, double bytes_per_s,
                  double noise = 0.001) {
  CheckCell cell;
  cell.label = label;
  cell.id = label + "@" + device;
  cell.destination = device;
  cell.devices = {device};
  cell.size_bytes = 64u << 20;
  for (int i = -5; i <= 5; ++i) {
    cell.samples_s.push_back((1 + noise * i) * static_cast<double>(cell.size_bytes) / bytes_per_s);
  }
  cell.bytes_per_s = bytes_per_s;
  cell.median_s = cell.samples_s[5];
  cell.again = [] { return report::Measurement(); };
  return cell;
}

CheckCell pair_at(int from, int to, double bytes_per_s) {
  const std::string source = "nvidia:" + std::to_string(from);
  CheckCell cell = cell_at("p2p-write.copy.64MiB", source, bytes_per_s);
  cell.source = source;
  cell.destination = "nvidia:" + std::to_string(to);
  cell.devices = {cell.source, cell.destination};
  cell.id = cell.label + "@" + cell.source + ">" + cell.destination;
  return cell;
}

struct Judged {
  std::vector<RateFault> faults;
  FloorResults floors;
  std::size_t repeats = 0;
};

/// A second measurement has `again` times the rate of the first.
Judged judge_cells(std::vector<CheckCell> cells, const Floors* floors = nullptr, double again = 1,
                   double spread = 0.05) {
  Judged judged;
  RateRules rules;
  rules.floors = floors;
  rules.spread = spread;
  for (int i = 0; i < 8; ++i) {
    rules.device_names["nvidia:" + std::to_string(i)] = "NVIDIA H200";
    rules.device_names["cpu:" + std::to_string(i)] = "a processor";
  }
  rules.device_names["nvidia:9"] = "NVIDIA L4";
  rules.again = [&](const CheckCell& cell) -> std::optional<report::Measurement> {
    ++judged.repeats;
    report::Measurement second = cell;
    second.bytes_per_s = again * *cell.bytes_per_s;
    for (double& sample : second.samples_s) sample /= again;
    return second;
  };
  judged.faults = judge_rates(cells, rules, judged.floors);
  return judged;
}

std::vector<CheckCell> eight(double slow_one) {
  std::vector<CheckCell> cells;
  for (int i = 0; i < 8; ++i) {
    const double rate = i == 3 ? slow_one : 50e9 + 0.1e9 * i;
    cells.push_back(cell_at("h2d.pinned.copy.64MiB", "nvidia:" + std::to_string(i), rate));
  }
  return cells;
}

Floors floors_of(const std::string& label, double bytes_per_s, std::size_t devices = 1) {
  Floors floors;
  floors.path = "gpus.json";
  Floor floor;
  floor.bytes_per_s = bytes_per_s;
  floor.devices = devices;
  floors.of_kind["NVIDIA H200"][label] = floor;
  return floors;
}

constexpr const char* h2d = "h2d.pinned.copy.64MiB";

}  // namespace

TEST_CASE("cells for floors only are not compared with their siblings") {
  std::vector<CheckCell> cells = eight(20e9);
  for (CheckCell& cell : cells) cell.is_for_floors_only = true;
  CHECK(judge_cells(cells).faults.empty());
  const Floors floors = floors_of(h2d, 30e9);
  const Judged judged = judge_cells(cells, &floors);
  REQUIRE(judged.faults.size() == 1);
  CHECK(judged.faults[0].device == "nvidia:3");
  CHECK(judged.floors.judged == 8);
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
  std::vector<CheckCell> scattered;
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
  std::vector<CheckCell> cells{cell_at("launch.u32", "nvidia:0", 1),
                               cell_at("launch.u32", "nvidia:1", 1)};
  for (std::size_t i = 0; i < 2; ++i) {
    cells[i].bytes_per_s.reset();
    cells[i].median_s = i == 0 ? 2e-6 : 4e-6;
    cells[i].samples_s = {*cells[i].median_s};
  }
  RateRules rules;
  rules.device_names = {{"nvidia:0", "NVIDIA H200"}, {"nvidia:1", "NVIDIA H200"}};
  rules.again = [](const CheckCell&) { return std::nullopt; };
  FloorResults results;
  const std::vector<RateFault> faults = judge_rates(cells, rules, results);
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
    CheckCell cell = cell_at(one.label, "nvidia:0", 50e9);
    cell.share_of_limit = one.share;
    cell.limit_source = "pcie-link";
    CAPTURE(one.label);
    CHECK(judge_cells({cell}).faults.size() == one.faults);
    cell.size_bytes = 1u << 20;  // a matter of latency
    CHECK(judge_cells({cell}).faults.empty());
  }
}

TEST_CASE("floors") {
  const Floors floors = floors_of(h2d, 48e9);
  const Judged met = judge_cells({cell_at(h2d, "nvidia:0", 48e9)}, &floors);
  CHECK(met.faults.empty());
  CHECK(met.floors.judged == 1);
  const Judged missed = judge_cells({cell_at(h2d, "nvidia:0", 47.9e9)}, &floors);
  REQUIRE(missed.faults.size() == 1);
  CHECK(missed.faults[0].fault.reason == "47.9 GB/s, at least 48.0 GB/s expected by gpus.json");
  CHECK(missed.repeats == 1);
  const Floors of_two = floors_of(h2d, 48e9, 2);
  CHECK(judge_cells({cell_at(h2d, "nvidia:0", 1e9)}, &of_two).faults.empty());
}

TEST_CASE("what a floor is for must be measured") {
  const Floors floors = floors_of("p2p-write.copy.64MiB", 48e9, 2);
  CheckCell skipped = pair_at(0, 1, 48e9);
  skipped.status = report::Status::skipped;
  skipped.reason = "no access";
  skipped.bytes_per_s.reset();
  const Judged judged = judge_cells({skipped}, &floors);
  REQUIRE(judged.faults.size() == 1);
  CHECK(judged.faults[0].device == "nvidia:0");
  CHECK(judge_cells({skipped}).faults.empty());
}
