// SPDX-License-Identifier: MIT
// Good machines are never refused, and bad ones always: whole runs of rates whose noise is that of
// real GPUs, from a fixed seed. The expectations are written as --write-expect does and read back.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "accept/rates.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::accept;

namespace {

/// A rate that differs from run to run, evenly between two bounds.
struct NoisyRate {
  std::string label;
  double least = 0;  ///< bytes or operations per second
  double most = 0;
  double work = 0;       ///< bytes or operations of a sample
  std::string library;   ///< of a product
  bool is_pair = false;  ///< between each two GPUs
};

constexpr double copied_bytes = 256 << 20;

/// One H100: copies as seen on a machine with 43 to 52 GB/s, calls of a library that differ by 40
/// %.
const std::vector<NoisyRate>& rates_of_h100() {
  static const std::vector<NoisyRate> rates{
      {"h2d.pinned.copy.256MiB", 43e9, 52e9, copied_bytes, "", false},
      {"d2h.pinned.copy.256MiB", 43e9, 52e9, copied_bytes, "", false},
      {"d2d.copy.256MiB", 1480e9, 1510e9, copied_bytes, "", false},
      {"p2p-write.copy.256MiB", 386e9, 397e9, copied_bytes, "", true},
      {"memtest-random.u32.256MiB", 2.80e12, 2.95e12, copied_bytes, "", false},
      {"stream-triad.f32.256MiB", 2.95e12, 3.05e12, 3 * copied_bytes, "", false},
      {"matmul.f16.1024x1024x1024.cublas", 112e12, 158e12, 2.147e9, "cublas", false},
      {"conv2d.f16.n8c64h28w28:k64r3s3p1.cudnn", 60e12, 100e12, 0.46e9, "cudnn", false},
      {"matmul.bf16.8192x8192x8192.cublas", 700e12, 767e12, 1.0995e12, "cublas", false},
  };
  return rates;
}

class NoisyMachine {
 public:
  NoisyMachine(int gpus, unsigned seed) : gpus_(gpus), random_(seed) {
    for (int i = 0; i < gpus; ++i) rules_.devices[id_of(i)].name = "NVIDIA H100 80GB HBM3";
    rules_.again = [this](const StageMeasurement& measured) -> std::optional<report::Measurement> {
      return factories_.at(measured.id)();
    };
  }

  /// All rates of this GPU are this share of what they would be; -1: of all GPUs.
  void slow_down(int gpu, double factor) {
    slow_gpu_ = gpu;
    factor_ = factor;
  }

  std::vector<StageMeasurement> measure() {
    std::vector<StageMeasurement> measurements;
    for (const NoisyRate& rate : rates_of_h100()) {
      for (int i = 0; i < gpus_; ++i) {
        if (!rate.is_pair) measurements.push_back(measure_one(rate, i, i));
        for (int j = 0; rate.is_pair && j < gpus_; ++j) {
          if (i != j) measurements.push_back(measure_one(rate, i, j));
        }
      }
    }
    return measurements;
  }

  std::vector<RateFault> judge(const Expectations* expectations) {
    std::vector<StageMeasurement> measurements = measure();
    rules_.expectations = expectations;
    ExpectationResults results;
    std::vector<RateFault> faults = judge_rates(measurements, rules_, results);
    judged_ += results.judged;
    return faults;
  }

  std::size_t judged() const { return judged_; }

 private:
  static std::string id_of(int gpu) { return "nvidia:" + std::to_string(gpu); }

  StageMeasurement measure_one(const NoisyRate& rate, int from, int to) {
    StageMeasurement measured;
    measured.label = rate.label;
    measured.source = rate.is_pair ? id_of(from) : "";
    measured.destination = id_of(to);
    measured.devices = {id_of(from)};
    if (rate.is_pair) measured.devices.push_back(id_of(to));
    measured.id = rate.label + "@" + id_of(from) + (rate.is_pair ? ">" + id_of(to) : "");
    measured.size_bytes = static_cast<std::uint64_t>(copied_bytes);
    measured.library = rate.library;
    measured.is_for_expectations_only = !rate.library.empty();
    const auto word = [&](int number) {
      std::size_t start = 0;
      for (int i = 0; i < number; ++i) start = rate.label.find('.', start) + 1;
      return rate.label.substr(start, rate.label.find('.', start) - start);
    };
    if (!rate.library.empty() || rate.label.starts_with("stream")) measured.dtype = word(1);
    if (!rate.library.empty()) measured.shape = word(2);
    if (rate.is_pair) measured.path_bytes_per_s = 450e9;
    if (rate.label.starts_with("h2d") || rate.label.starts_with("d2h"))
      measured.path_bytes_per_s = 63e9;
    const bool is_slow = slow_gpu_ == -1 || slow_gpu_ == from || slow_gpu_ == to;
    const double factor = is_slow ? factor_ : 1;
    measured.again = [] { return report::Measurement(); };
    const auto draw = [this, rate, factor, shape = static_cast<report::Measurement>(measured)] {
      report::Measurement one = shape;
      const double speed =
          factor * std::uniform_real_distribution<double>(rate.least, rate.most)(random_);
      std::normal_distribution<double> jitter(1, 0.005);
      for (int i = 0; i < 9; ++i) one.samples_s.push_back(jitter(random_) * rate.work / speed);
      one.median_s = base::median(one.samples_s);
      (rate.library.empty() ? one.bytes_per_s : one.flops_per_s) = rate.work / *one.median_s;
      return one;
    };
    factories_[measured.id] = draw;
    static_cast<report::Measurement&>(measured) = draw();
    return measured;
  }

  int gpus_;
  std::mt19937 random_;
  RateRules rules_;
  std::map<std::string, std::function<report::Measurement()>> factories_;
  int slow_gpu_ = -2;
  double factor_ = 1;
  std::size_t judged_ = 0;
};

/// What --write-expect writes of that many runs of a machine.
Expectations write_expectations(NoisyMachine& machine, std::size_t repeats) {
  std::vector<std::vector<StageMeasurement>> runs;
  for (std::size_t i = 0; i < repeats; ++i) runs.push_back(machine.measure());
  std::vector<RatedMeasurement> rated;
  for (const auto& run : runs) {
    for (const StageMeasurement& measured : run)
      rated.push_back({&measured, "NVIDIA H100 80GB HBM3"});
  }
  test::TemporaryFolder folder;
  const auto path = folder.path() / "gpus.json";
  std::ofstream(path) << expectations_text(rated, {},
                                           {"quick", 0.05, repeats, "2026-01-01T00:00:00Z"});
  return read_expectations(path, nullptr);
}

constexpr unsigned runs = 200;

int gpus_of_run(unsigned run) {
  constexpr std::array<int, 3> sizes{1, 2, 8};
  return sizes[run % sizes.size()];
}

}  // namespace

TEST_CASE("200 runs of good machines: none is refused") {
  std::size_t judged = 0;
  for (unsigned run = 0; run < runs; ++run) {
    NoisyMachine machine(gpus_of_run(run), run + 1);
    const Expectations expectations = write_expectations(machine, 3);
    for (const Expectations* const expected :
         {&expectations, static_cast<const Expectations*>(nullptr)}) {
      const std::vector<RateFault> faults = machine.judge(expected);
      CAPTURE(run);
      CHECK_MESSAGE(faults.empty(), faults.front().device, ": ", faults.front().fault.reason);
    }
    judged += machine.judged();
  }
  CHECK(judged > runs * rates_of_h100().size());
}

TEST_CASE("one of eight that is 12 % slower is named in every run, and no other one") {
  for (unsigned run = 0; run < runs / 8; ++run) {
    CAPTURE(run);
    NoisyMachine machine(8, run + 1);
    machine.slow_down(5, 0.88);
    const std::vector<RateFault> faults = machine.judge(nullptr);
    const bool has_named = std::any_of(faults.begin(), faults.end(), [](const RateFault& one) {
      return one.device == "nvidia:5" && one.fault.what == "d2d.copy.256MiB" &&
             one.fault.reason.find("below its 7 siblings") != std::string::npos;
    });
    CHECK(has_named);
    for (const RateFault& fault : faults) {
      if (fault.fault.what.find("p2p") == std::string::npos) CHECK(fault.device == "nvidia:5");
    }
  }
}

TEST_CASE("eight that are all slow are refused without a file, by what is published") {
  for (unsigned run = 0; run < runs / 8; ++run) {
    CAPTURE(run);
    NoisyMachine machine(8, run + 1);
    machine.slow_down(-1, 0.6);
    const std::vector<RateFault> faults = machine.judge(nullptr);
    for (const char* const label :
         {"h2d.pinned.copy.256MiB", "d2h.pinned.copy.256MiB", "d2d.copy.256MiB",
          "stream-triad.f32.256MiB", "matmul.bf16.8192x8192x8192.cublas"}) {
      CAPTURE(label);
      CHECK(std::count_if(faults.begin(), faults.end(), [&](const RateFault& one) {
              return one.fault.what == label &&
                     one.fault.reason.find("expected of NVIDIA H100 80GB HBM3") !=
                         std::string::npos;
            }) == 8);
    }
    CHECK(std::count_if(faults.begin(), faults.end(), [](const RateFault& one) {
            return one.fault.what.starts_with("p2p-write");
          }) == 8 * 7);
  }
}

TEST_CASE("one machine that became slow is refused by the file that was written before") {
  NoisyMachine machine(1, 7);
  const Expectations expectations = write_expectations(machine, 3);
  machine.slow_down(0, 0.8);
  const std::vector<RateFault> faults = machine.judge(&expectations);
  const bool has_named = std::any_of(faults.begin(), faults.end(), [](const RateFault& one) {
    return one.fault.what == "d2d.copy.256MiB" &&
           one.fault.reason.find("gpus.json") != std::string::npos;
  });
  CHECK(has_named);
}
