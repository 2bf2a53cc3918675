// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <sstream>

#include "core/platform_state.hpp"
#include "harness.hpp"
#include "kept_screen.hpp"
#include "report/text.hpp"
#include "results/bench_copy/outcome.hpp"

using namespace hiptool;
using measure::CopyKind;
using measure::CopyResult;

namespace {

std::vector<Device> nvidia_devices(std::size_t count) {
  static Platforms platforms =
      core::make_platforms(Platforms::Options{}, std::make_shared<cli::testing::FakeBinder>(4));
  std::vector<Device> devices = platforms.devices(Platform::nvidia);
  devices.erase(devices.begin() + static_cast<std::ptrdiff_t>(count), devices.end());
  return devices;
}

measure::CopySpec spec_of(CopyKind kind, std::vector<Device> devices, std::uint64_t size_bytes) {
  measure::CopySpec spec;
  spec.kind = kind;
  if (measure::uses_host(kind)) spec.memory = measure::HostKind::pinned;
  spec.size_bytes = size_bytes;
  spec.devices = std::move(devices);
  return spec;
}

// Nine samples around that time, the slowest and fastest off by the spread.
void set_samples(CopyResult& result, double sample_s, double spread) {
  for (const double step : {0.0, 0.5, -0.5, 1.0, -1.0, 0.25, -0.25, 0.75, -0.75}) {
    result.samples_s.push_back(sample_s * (1 + step * spread));
  }
  result.summarize();
}

CopyResult copy_of(CopyKind kind, std::vector<Device> devices, std::uint64_t size_bytes,
                   double rate, double spread = 0.01) {
  CopyResult result(spec_of(kind, std::move(devices), size_bytes));
  result.bytes = size_bytes * measure::routes_of(result.spec).size();
  if (measure::uses_host(kind)) result.limit = measure::CopyLimit{63e9, "pcie-link", {}};
  set_samples(result, static_cast<double>(result.bytes) / rate, spread);
  return result;
}

results::BenchCopyOutcome one_gpu() {
  const std::vector<Device> gpu = nvidia_devices(1);
  results::BenchCopyOutcome outcome;
  outcome.devices.push_back({gpu.front(), {}, {}, {}, {}, {}, {}, {}, {}, {}});
  outcome.wall_time_s = 4.2;
  for (const CopyKind kind : {CopyKind::h2d, CopyKind::d2h}) {
    outcome.results.push_back(copy_of(kind, gpu, std::uint64_t{64} << 10, 9.1e9, 0.2));
    outcome.results.push_back(copy_of(kind, gpu, std::uint64_t{256} << 20, 55.3e9));
  }
  outcome.results.push_back(copy_of(CopyKind::d2d, gpu, std::uint64_t{256} << 20, 1.41e12));
  CopyResult latency([&] {
    measure::CopySpec spec = spec_of(CopyKind::h2d, gpu, measure::latency_bytes);
    spec.is_latency = true;
    return spec;
  }());
  set_samples(latency, 7.1e-6, 0.03);
  outcome.results.push_back(std::move(latency));
  return outcome;
}

results::BenchCopyOutcome missed() {
  results::BenchCopyOutcome outcome = one_gpu();
  report::ThresholdResult threshold;
  threshold.threshold = "h2d.pinned>=60GB/s";
  threshold.id = outcome.results[1].id;
  threshold.least_bytes_per_s = 60e9;
  threshold.measured_bytes_per_s = outcome.results[1].bytes_per_s;
  threshold.failures = {
      report::missed_by(threshold.threshold, threshold.id, 60e9, *outcome.results[1].bytes_per_s)};
  threshold.missed = {threshold.id + ": 55.3 GB/s"};
  outcome.thresholds.push_back(std::move(threshold));
  return outcome;
}

results::BenchCopyOutcome wrong() {
  results::BenchCopyOutcome outcome = one_gpu();
  CopyResult& bad = outcome.results.back();
  bad = copy_of(CopyKind::d2h, nvidia_devices(1), std::uint64_t{1} << 30, 54.0e9);
  bad.status = report::Status::mismatch;
  bad.wrong = report::WrongData{};
  bad.wrong->first_index = 4096;
  bad.wrong->count = 1;
  bad.wrong->xor_bits = 0x40;
  return outcome;
}

results::BenchCopyOutcome interrupted() {
  results::BenchCopyOutcome outcome = one_gpu();
  outcome.error = Error(ErrorCode::cancelled, "bench-copy", "interrupted");
  for (std::size_t i = 3; i < outcome.results.size(); ++i) {
    outcome.results[i] = CopyResult(outcome.results[i].spec);
    outcome.results[i].status = report::Status::skipped;
    outcome.results[i].reason = "interrupted";
  }
  return outcome;
}

// Every pair, one of them slower.
results::BenchCopyOutcome four_gpus() {
  const std::vector<Device> gpus = nvidia_devices(4);
  results::BenchCopyOutcome outcome;
  outcome.wall_time_s = 21;
  for (const Device& gpu : gpus) {
    outcome.devices.push_back({gpu, {}, {}, {}, {}, {}, {}, {}, {}, {}});
    outcome.results.push_back(copy_of(CopyKind::h2d, {gpu}, std::uint64_t{256} << 20, 55.3e9));
  }
  for (const Device& from : gpus) {
    for (const Device& to : gpus) {
      if (from == to) continue;
      const bool is_slow = from == gpus[3] && to == gpus[1];
      outcome.results.push_back(copy_of(CopyKind::p2p_write, {from, to}, std::uint64_t{256} << 20,
                                        is_slow ? 180e9 : 371e9));
    }
  }
  outcome.results.push_back(copy_of(CopyKind::h2d_all, gpus, std::uint64_t{256} << 20, 201e9));
  return outcome;
}

report::Report report_of(const results::BenchCopyOutcome& outcome, int exit_code) {
  report::Run run;
  run.command = "bench-copy";
  run.end(exit_code, results::failures_of(outcome));
  return results::bench_copy_report(std::move(run), outcome, true);
}

std::vector<std::string> titles_at(std::size_t width) {
  std::istringstream lines(report::to_table(report_of(one_gpu(), 0), {width, false, true, 0}));
  std::vector<std::string> titles;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Copy ")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) titles.push_back(word);
    return titles;
  }
  return titles;
}

}  // namespace

TEST_CASE("the screens of bench-copy") {
  test::check_kept_screen("bench-copy-1", report_of(one_gpu(), 0));
  test::check_kept_screen("bench-copy-1-missed", report_of(missed(), 1));
  test::check_kept_screen("bench-copy-1-wrong", report_of(wrong(), 5));
  test::check_kept_screen("bench-copy-1-interrupted", report_of(interrupted(), 130));
  test::check_kept_screen("bench-copy-4", report_of(four_gpus(), 0));
}

TEST_CASE("rates have a range; where a terminal is too narrow, first the bars go, then the range") {
  using Titles = std::vector<std::string>;
  CHECK(titles_at(1000) ==
        Titles{"Copy", "Size", "Median", "Of", "limit", "±", "CV", "Range", "Samples"});
  CHECK(titles_at(70) == Titles{"Copy", "Size", "Median", "Of", "limit", "±", "CV", "Range"});
  CHECK(titles_at(50) == Titles{"Copy", "Size", "Median", "Of", "limit", "±", "CV"});
  const std::string text = report::to_table(report_of(one_gpu(), 0), {1000, false, true, 0});
  CHECK(text.find("54.8 to 55.9 GB/s") != std::string::npos);
}

TEST_CASE("doubts about the times of copies are one line for each cause") {
  const std::vector<Device> gpus = nvidia_devices(4);
  results::BenchCopyOutcome outcome = four_gpus();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    CopyResult& result = outcome.results[i];
    result.clocks_disagree = true;
    result.wall_s = static_cast<double>(i + 2) * 0.9e-3;
    result.has_gate_expired = i < 2;
    result.is_serialised = i == 3;
  }
  std::vector<std::string> doubts;
  for (const report::Line& line : report_of(outcome, 0).notes) {
    if (line.tone == report::Tone::warning) doubts.push_back(line.text);
  }
  const std::string size = "h2d.pinned.copy.256MiB@";
  CHECK(doubts ==
        std::vector<std::string>{
            size + "nvidia:0 and 1 more: the start gate timed out; measured without it "
                   "(on nvidia:0-1)",
            size + "nvidia:0: the host's clock says 1.80 ms, the device's events 4.85 ms; "
                   "alike in 2 more (on nvidia:0-2)",
            size + "nvidia:3: the copies ran one after the other"});
}
