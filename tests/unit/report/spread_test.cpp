// SPDX-License-Identifier: MIT
// Runs of one good machine are never slower and hold no straggler, whatever their short calls do:
// rates as measured on H100, from a fixed seed.
#include "report/spread.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "report/compare.hpp"
#include "report/merge.hpp"

using namespace hiptool;
using namespace hiptool::report;

namespace {

struct SteadyOrNot {
  std::string label;
  std::string kind;
  std::string library;
  double least_s = 0;  ///< the median differs evenly between these from run to run
  double most_s = 0;
};

/// Calls of a library as in the test of noise of `check`, which differ by 30 to 40 %.
const std::vector<SteadyOrNot>& usual_calls() {
  static const std::vector<SteadyOrNot> calls{
      {"matmul.f16.1024x1024x1024.cublas", "library", "cublas", 13.6e-6, 19.2e-6},
      {"conv2d.f16.n8c64h28w28:k64r3s3p1.cudnn", "library", "cudnn", 4.6e-6, 7.7e-6},
      {"reduce-sum.f32.1MiB", "kernel", "own", 5.0e-6, 7.0e-6},
      {"matmul.bf16.8192x8192x8192.cublas", "library", "cublas", 1.434e-3, 1.447e-3},
      {"h2d.pinned.copy.256MiB", "h2d", "", 4.84e-3, 4.88e-3},
  };
  return calls;
}

class Machine {
 public:
  explicit Machine(unsigned seed) : random_(seed) {}

  /// All of it takes `factor` times as long.
  RunFile run(double factor = 1) {
    RunFile file;
    file.run.command = "check";
    file.run.status = "ok";
    file.run.passed = true;
    for (const SteadyOrNot& call : usual_calls()) {
      Measurement measured;
      measured.label = call.label;
      measured.id = call.label + "@nvidia:0";
      measured.kind = call.kind;
      measured.library = call.library;
      measured.destination = "nvidia:0";
      measured.devices = {"nvidia:0"};
      const double usual_s =
          factor * std::uniform_real_distribution<double>(call.least_s, call.most_s)(random_);
      std::normal_distribution<double> jitter(1, 0.003);
      for (int i = 0; i < 15; ++i) measured.samples_s.push_back(usual_s * jitter(random_));
      measured.median_s = base::median(measured.samples_s);
      measured.flops_per_s = 1e9 / *measured.median_s;
      file.measurements.push_back(std::move(measured));
    }
    return file;
  }

 private:
  std::mt19937 random_;
};

/// Of the measurements of one label in each run.
std::size_t count_stragglers(const std::vector<RunFile>& runs, std::size_t place) {
  MergedGroup group{"label", "NVIDIA H100", "flops_per_s", 0, {}};
  for (const RunFile& run : runs) {
    MergedMember member{&run, &run.measurements[place]};
    member.value = *run.measurements[place].flops_per_s;
    group.members.push_back(member);
  }
  find_stragglers(group);
  return static_cast<std::size_t>(
      std::count_if(group.members.begin(), group.members.end(),
                    [](const MergedMember& member) { return member.is_slow; }));
}

}  // namespace

TEST_CASE("only calls and kernels below 100 us are short") {
  Measurement measured;
  CHECK_FALSE(is_short(measured));
  measured.median_s = 99e-6;
  CHECK_FALSE(is_short(measured));  // a copy
  for (const char* kind : {"kernel", "operation"}) {
    measured.kind = kind;
    CHECK(is_short(measured));
  }
  measured.kind = "library";
  measured.library = "cublas";
  CHECK(is_short(measured));
  CHECK(run_spread(measured) == 0.5);
  CHECK(run_spread(measured, 0.6) == 0.6);
  measured.median_s = 100e-6;
  CHECK_FALSE(is_short(measured));
  CHECK(run_spread(measured) == 0.05);
  CHECK(run_spread(measured, 0.1) == 0.1);
}

TEST_CASE("of two runs of one good machine none is slower") {
  Machine machine(38);
  for (int round = 0; round < 40; ++round) {
    const RunFile before = machine.run();
    const RunComparison compared = compare_runs(before, machine.run(), usual_effect(before));
    CHECK(compared.comparisons.size() == usual_calls().size());
    CHECK(compared.count(base::Verdict::slower) == 0);
    CHECK(compared.count(base::Verdict::faster) == 0);
  }
}

TEST_CASE("a machine that takes three times as long is slower in each call") {
  Machine machine(39);
  const RunFile before = machine.run();
  const RunComparison compared = compare_runs(before, machine.run(3.5), usual_effect(before));
  CHECK(compared.count(base::Verdict::slower) == usual_calls().size());
  const auto failures = compared.failures();
  CHECK(text_of(failures.front().expected).ends_with(" us within 100 %"));
  CHECK(text_of(failures.back().expected).ends_with(" ms within 5 %"));
}

TEST_CASE("runs of one good machine hold no straggler, and a slow one is named") {
  Machine machine(40);
  for (const std::size_t count : {3u, 4u, 8u}) {
    for (int round = 0; round < 40; ++round) {
      std::vector<RunFile> runs;
      for (std::size_t i = 0; i < count; ++i) runs.push_back(machine.run());
      for (std::size_t i = 0; i < usual_calls().size(); ++i) {
        CHECK(count_stragglers(runs, i) == 0);
      }
      runs.back() = machine.run(20);
      for (std::size_t i = 0; i < usual_calls().size(); ++i) {
        // Among five and more the z score counts too, and 40 % of noise may be as wide as the
        // fault.
        const bool is_lost = is_short(runs.front().measurements[i]) && count >= 5;
        CHECK((count_stragglers(runs, i) == 1 || is_lost));
      }
    }
  }
}

TEST_CASE("samples that vary by more than 5 % are named with their range") {
  Measurement steady;
  steady.id = "h2d.pinned.copy.1MiB@cpu:0";
  steady.status = Status::ok;
  steady.samples_s = {1.00e-3, 1.01e-3, 0.99e-3};
  steady.median_s = 1.00e-3;
  steady.bytes_per_s = 1e9;
  CHECK(range_text(steady) == "990 MB/s to 1.01 GB/s");
  CHECK(variation_text({steady}).empty());
  Measurement unsteady = steady;
  unsteady.id = "d2h.pinned.copy.1MiB@cpu:0";
  unsteady.samples_s = {1.00e-3, 2.00e-3, 0.50e-3};
  unsteady.bytes_per_s = 50e9;
  CHECK(range_text(unsteady) == "25.0 to 100 GB/s");
  CHECK(variation_text({steady, unsteady}) ==
        "samples vary by more than 5 % (CV) in 1 of 2 measurements, most in "
        "d2h.pinned.copy.1MiB@cpu:0: CV 65 %, 25.0 to 100 GB/s; compare only medians, and measure "
        "on an idle machine");
  unsteady.status = Status::failed;
  CHECK(variation_text({steady, unsteady}).empty());
}

TEST_CASE("the range of times goes from the fastest; one sample has none") {
  Measurement latency;
  latency.samples_s = {12e-6, 10e-6, 15e-6};
  latency.median_s = 12e-6;
  CHECK(range_text(latency) == "10.0 to 15.0 us");
  latency.samples_s = {12e-6, 12.001e-6};
  CHECK(range_text(latency) == "12.0 us");
  latency.samples_s = {12e-6};
  CHECK(range_text(latency).empty());
}

TEST_CASE("rates of the cpu platform are those of reference kernels") {
  Measurement measured;
  measured.destination = "nvidia:0";
  measured.median_s = 1;
  CHECK(cpu_rates_text({measured}).empty());
  measured.destination = "cpu:0";
  CHECK(cpu_rates_text({measured}) ==
        "cpu: rates of reference kernels on the CPU, which are not tuned");
  measured.median_s.reset();
  CHECK(cpu_rates_text({measured}).empty());
}
