// SPDX-License-Identifier: MIT
#include "measure/kernel/threshold.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

KernelResult result(const char* kernel, const char* dtype, double bytes_per_s, double share) {
  KernelResult one;
  one.kernel = kernel;
  one.dtype = dtype;
  one.device = "cpu:0";
  one.bytes_per_s = bytes_per_s;
  one.share_of_peak = share;
  one.flops_per_s = bytes_per_s * 2;
  one.samples_s = {1};
  return one;
}

}  // namespace

TEST_CASE("a threshold is read with its unit") {
  KernelThreshold threshold = parse_kernel_threshold("stream-triad.f32>=90%");
  CHECK(threshold.kernel == "stream-triad");
  CHECK(threshold.dtype == "f32");
  CHECK(threshold.least == doctest::Approx(0.9));
  CHECK((threshold.of == KernelThreshold::Of::share));
  threshold = parse_kernel_threshold("sum>=3.5TB/s");
  CHECK(threshold.kernel == "sum");
  CHECK(threshold.dtype == "");
  CHECK(threshold.least == doctest::Approx(3.5e12));
  CHECK((threshold.of == KernelThreshold::Of::bytes_per_s));
  threshold = parse_kernel_threshold("gemm.f16>=20GFLOP/s");
  CHECK(threshold.least == doctest::Approx(2e10));
  CHECK((threshold.of == KernelThreshold::Of::flops_per_s));
}

TEST_CASE("what is no threshold is refused with the forms") {
  for (const std::string text : {"", "sum", "sum>90%", ">=90%", ".f32>=90%", "sum.>=90%",
                                 "sum>=", "sum>=%", "sum>=-1%", "sum>=1", "sum>=1B/s", "sum>=1KB/s",
                                 "sum>=1GB", "sum>=1GB/s ", "sum>=nan%", "sum>=1GFLOPs"}) {
    CAPTURE(text);
    try {
      parse_kernel_threshold(text);
      CHECK(false);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK(error.hint().find("90%") != std::string::npos);
    }
  }
}

TEST_CASE("results below are named; what could not be judged is no pass") {
  const std::vector<KernelResult> results{result("sum", "f32", 2e12, 0.5),
                                          result("sum", "f64", 4e12, 0.95)};
  const auto judge = [&](const char* text) {
    return judge_threshold(parse_kernel_threshold(text), results);
  };
  CHECK(judge("sum>=50%") == "");
  CHECK(judge("sum.f64>=95%") == "");
  CHECK(judge("sum>=90%") == "sum.f32 on cpu:0: 50 %, below 90 %");
  CHECK(judge("sum.f64>=5TB/s") == "sum.f64 on cpu:0: 4.00 TB/s, below 5.00 TB/s");
  CHECK(judge("sum.f32>=4TFLOP/s") == "");
  CHECK(judge("sum.f32>=4.1TFLOP/s") == "sum.f32 on cpu:0: 4000 GFLOP/s, below 4100 GFLOP/s");
  CHECK_THROWS_AS(judge("summ>=1%"), Error);
  CHECK_THROWS_AS(judge("sum.u32>=1%"), Error);

  std::vector<KernelResult> unknown{results[0], results[1]};
  unknown[0].share_of_peak.reset();
  unknown[1].status = KernelStatus::skipped;
  CHECK(judge_threshold(parse_kernel_threshold("sum>=1%"), unknown) ==
        "sum.f32 on cpu:0: not known, so not 1 %; sum.f64 on cpu:0: not known, so not 1 %");
  for (KernelResult& one : unknown) one.samples_s.clear();
  CHECK_THROWS_AS(judge_threshold(parse_kernel_threshold("sum>=1%"), unknown), Error);
}

TEST_CASE("a threshold has to name what will run") {
  KernelBenchOptions options;
  options.names = {"stream", "sum"};
  options.dtypes = {"f32"};
  const auto families = chosen_kernels(options);
  for (const char* text : {"sum>=1%", "stream-triad.f32>=1%"}) {
    CAPTURE(text);
    CHECK_NOTHROW(require_named(parse_kernel_threshold(text), families));
  }
  for (const char* text : {"summ>=1%", "stream>=1%", "sum.f64>=1%", "gemm>=1%"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(require_named(parse_kernel_threshold(text), families), Error);
  }
}
