// SPDX-License-Identifier: MIT
#include "measure/kernel_thresholds.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

Threshold kernels_threshold(const char* text) {
  return parse_threshold(text, ThresholdKind::kernels);
}

KernelResult result(const char* kernel, const char* dtype, double bytes_per_s, double share,
                    const char* size_word = "") {
  KernelResult one;
  one.kernel = kernel;
  one.dtype = dtype;
  one.destination = "cpu:0";
  one.size_word = size_word;
  one.bytes_per_s = bytes_per_s;
  one.share_of_limit = share;
  one.flops_per_s = bytes_per_s * 2;
  one.samples_s = {1};
  return one;
}

}  // namespace

TEST_CASE("results below are named; what could not be judged is no pass") {
  const std::vector<KernelResult> results{result("sum", "f32", 2e12, 0.5),
                                          result("sum", "f64", 4e12, 0.95)};
  const auto judge = [&](const char* text) {
    return judge_threshold(kernels_threshold(text), results).reason();
  };
  CHECK(judge("sum>=50%") == "");
  CHECK(judge("sum.f64>=95%") == "");
  CHECK(judge("sum>=90%") == "sum.f32 on cpu:0: 50 %, below 90 %");
  CHECK(judge("sum.f64>=5TB/s") == "sum.f64 on cpu:0: 4.00 TB/s, below 5.00 TB/s");
  CHECK(judge("sum.f32>=4TFLOP/s") == "");
  CHECK(judge("sum.f32>=4.1TFLOP/s") == "sum.f32 on cpu:0: 4.00 TFLOP/s, below 4.10 TFLOP/s");
  CHECK_THROWS_AS(judge("summ>=1%"), Error);
  CHECK_THROWS_AS(judge("sum.u32>=1%"), Error);

  std::vector<KernelResult> unknown{results[0], results[1]};
  unknown[1].status = Status::skipped;
  CHECK(judge_threshold(kernels_threshold("sum>=1%"), unknown).reason() ==
        "sum.f64 on cpu:0: not known, so not 1 %");
  unknown[0].flops_per_s.reset();
  CHECK(judge_threshold(kernels_threshold("sum.f32>=1TFLOP/s"), unknown).reason() ==
        "sum.f32 on cpu:0: not known, so not 1.00 TFLOP/s");
  for (KernelResult& one : unknown) one.samples_s.clear();
  CHECK_THROWS_AS(judge_threshold(kernels_threshold("sum>=1%"), unknown).reason(), Error);
}

TEST_CASE("a share is refused where there is none, with the reason") {
  std::vector<KernelResult> results{result("sum", "f32", 2e12, 0.5),
                                    result("sum", "f64", 4e12, 0.95)};
  results[1].share_of_limit.reset();
  results[1].share_reason = "the rate is 5907 % of the peak";
  std::string message;
  try {
    judge_threshold(kernels_threshold("sum>=1%"), results).reason();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(!error.hint().empty());
    message = error.what();
  }
  CHECK(message ==
        "the threshold 'sum>=1%': sum.f64 on cpu:0 has no share of a peak: the rate is "
        "5907 % of the peak");
  CHECK(judge_threshold(kernels_threshold("sum.f32>=1%"), results).reason() == "");
  CHECK(judge_threshold(kernels_threshold("sum>=1TB/s"), results).reason() == "");
}

TEST_CASE("a size is the one that ran or the one that was asked for") {
  std::vector<KernelResult> results{result("gemm", "f32", 2e12, 0.5, "64KiB")};
  results[0].requested_sizes_bytes = {1024};
  CHECK(judge_threshold(kernels_threshold("gemm.64KiB>=1%"), results).reason() == "");
  CHECK(judge_threshold(kernels_threshold("gemm.1024>=1%"), results).reason() == "");
  CHECK_THROWS_AS(judge_threshold(kernels_threshold("gemm.2KiB>=1%"), results).reason(), Error);
}

TEST_CASE("a type, a size in any form and a device choose among the results") {
  std::vector<KernelResult> results{result("sum", "f32", 1e9, 0.1, "1MiB"),
                                    result("sum", "f32", 3e12, 0.9, "1GiB"),
                                    result("sum", "f64", 2e12, 0.8, "1GiB")};
  results.push_back(results.back());
  results.back().destination = "nvidia:1";
  results.back().share_of_limit = 0.3;
  const auto judge = [&](const char* text) {
    return judge_threshold(kernels_threshold(text), results).reason();
  };
  for (const char* text : {"sum.f32.1GiB>=90%", "sum.1G.f32>=90%", "sum.1073741824.f32>=90%",
                           "sum.1024MiB.cpu:0>=80%", "sum.cpu:0.f64>=80%"}) {
    CAPTURE(text);
    CHECK(judge(text) == "");
  }
  CHECK(judge("sum.1GiB>=50%") == "sum.f64.1GiB on nvidia:1: 30 %, below 50 %");
  Threshold of_part = kernels_threshold("sum.1GiB>=50%");
  of_part.device_ids = {"cpu:0"};
  CHECK(judge_threshold(of_part, results).reason() == "");
  CHECK(judge("sum.f32>=50%") == "sum.f32.1MiB on cpu:0: 10 %, below 50 %");
  for (const char* text : {"sum.1GB>=1%", "sum.f32.nvidia:1>=1%", "sum.1GiB.1MiB>=1%"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(judge(text), Error);
  }
}

TEST_CASE("a group means all of its kernels that ran") {
  const std::vector<KernelResult> results{result("stream-copy", "f32", 2e12, 0.9),
                                          result("stream-triad", "f32", 1e12, 0.5),
                                          result("sum", "f32", 1e9, 0.1)};
  CHECK(judge_threshold(kernels_threshold("stream>=50%"), results).reason() == "");
  CHECK(judge_threshold(kernels_threshold("stream.f32>=60%"), results).reason() ==
        "stream-triad.f32 on cpu:0: 50 %, below 60 %");
  CHECK_THROWS_AS(judge_threshold(kernels_threshold("units>=1%"), results).reason(), Error);
}

TEST_CASE("a threshold has to name what will run") {
  KernelBenchOptions options;
  options.names = {"stream", "sum"};
  options.dtypes = {"f32"};
  const auto check = [&](const char* text) {
    CAPTURE(text);
    require_named({kernels_threshold(text)}, options);
  };
  for (const char* text : {"sum>=1%", "stream-triad.f32>=1%", "stream>=1%", "reduce.f32>=1%"}) {
    CAPTURE(text);
    CHECK_NOTHROW(check(text));
  }
  for (const char* text : {"summ>=1%", "streams>=1%", "stream.f64>=1%", "units>=1%", "sum.f64>=1%",
                           "gemm>=1%", "sum.>=1%", ".f32>=1%", "sum..f32>=1%"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(check(text), Error);
  }
  CHECK_NOTHROW(check("sum.1MiB>=1%"));  // the device chooses the size
  CHECK_NOTHROW(check("sum.f32.nvidia:0>=1%"));
  CHECK_THROWS_AS(check("sum.90%>=1%"), Error);
  options.sizes_bytes = {1u << 20, 1'000'000};
  CHECK_NOTHROW(check("sum.1M>=1%"));
  CHECK_NOTHROW(check("sum.f32.1MB>=1%"));
  CHECK_THROWS_AS(check("sum.2MiB>=1%"), Error);
  options.sizes_bytes.clear();
  options.memory_share = 0.9;
  CHECK_NOTHROW(check("sum.90%>=1%"));
  CHECK_THROWS_AS(check("sum.1MiB>=1%"), Error);
}
