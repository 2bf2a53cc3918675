// SPDX-License-Identifier: MIT
/// Poolings of the libraries' tables over the fakes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "hip/dnn.hpp"
#include "unit/hip/conv_problem.hpp"

namespace hiptool::hip {
namespace {

struct PoolLibrary {
  const char* file;
  const char* objects;
  const char* fault;
  DnnLibrary (*open)();
};

constexpr PoolLibrary pool_libraries[] = {
    {"libMIOpen.so.1", "fake_miopen_objects", "FAKE_MIOPEN", amd::open_miopen},
    {"libcudnn.so.9", "fake_cudnn_objects", "FAKE_CUDNN", nvidia::open_cudnn}};

int object_count(const PoolLibrary& named) {
  const std::string path = test::fake_library("FAKE_BLAS_FOLDER") + "/" + named.file;
  return *static_cast<int*>(test::symbol_of(path, named.objects));
}

/// Halves of numbers that are exact in them and not below 2^-14.
std::uint16_t half_of(double number) {
  if (number == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(number), &exponent);
  const auto digits = static_cast<int>(fraction * 2048) - 1024;
  return static_cast<std::uint16_t>((number < 0 ? 0x8000 : 0) + (exponent + 14) * 1024 + digits);
}
double number_of_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  if (exponent == 31) return NAN;
  const double size = exponent == 0 ? std::ldexp(half & 1023, -24)
                                    : std::ldexp(1024 + (half & 1023), exponent - 25);
  return (half & 0x8000) != 0 ? -size : size;
}

/// 2 images of 3 channels, 7 x 10; windows of 2 x 3, 3 apart in height and 2 in width.
struct PoolProblem {
  PoolCall call;
  std::vector<float> x;
  std::vector<float> y;
  std::vector<std::uint16_t> half_x;
  std::vector<std::uint16_t> half_y;

  PoolProblem(bool is_largest, BlasType type) {
    call.type = type;
    call.is_largest = is_largest;
    call.n = 2;
    call.c = 3;
    call.h = 7;
    call.w = 10;
    call.r = 2;
    call.s = 3;
    call.stride_h = 3;
    call.stride_w = 2;
    for (int i = 0; i < 2 * 3 * 7 * 10; ++i) {
      x.push_back(static_cast<float>(i * 37 % 101 - 50) / 8);  // exact in halves
      half_x.push_back(half_of(x.back()));
    }
    y.assign(2 * 3 * 2 * 4, NAN);
    half_y.assign(y.size(), 0x7E00);
    call.x = type == BlasType::f16 ? static_cast<const void*>(half_x.data()) : x.data();
    call.y = type == BlasType::f16 ? static_cast<void*>(half_y.data()) : y.data();
  }

  double expected(std::size_t at) const {
    const std::size_t column = at % 4 * 2;
    const std::size_t row = at / 4 % 2 * 3;
    const float* const image = x.data() + at / 8 * 70;
    double sum = 0;
    double largest = -INFINITY;
    for (std::size_t i = 0; i < 6; ++i) {
      const double one = image[(row + i / 3) * 10 + column + i % 3];
      sum += one;
      largest = std::max(largest, one);
    }
    return call.is_largest ? largest : sum / 6;
  }

  std::size_t count_wrong() const {
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < y.size(); ++at) {
      const bool is_half = call.type == BlasType::f16;
      const double got = is_half ? number_of_half(half_y[at]) : y[at];
      const double unit = is_half ? 0x1p-11 : 0x1p-23;
      const double slack = call.is_largest ? 0 : unit * std::fabs(expected(at)) + 0x1p-24;
      if (!(std::fabs(got - expected(at)) <= slack)) ++wrong;
    }
    return wrong;
  }
};

}  // namespace

TEST_CASE("poolings of both kinds and types, with windows and strides that differ by axis") {
  test::use_fake_libraries();
  for (const PoolLibrary& named : pool_libraries) {
    const DnnLibrary library = named.open();
    CAPTURE(library.name);
    REQUIRE_MESSAGE(library.api != nullptr, library.reason);
    void* handle = nullptr;
    REQUIRE(library.api->open(handle) == 0);
    for (const bool is_largest : {false, true}) {
      for (const BlasType type : {BlasType::f32, BlasType::f16}) {
        CAPTURE(is_largest);
        CAPTURE(static_cast<int>(type));
        PoolProblem problem(is_largest, type);
        CHECK(problem.call.out_height() == 2);
        CHECK(problem.call.out_width() == 4);
        CHECK(problem.count_wrong() == problem.y.size());
        CHECK(library.api->pool(handle, problem.call) == 0);
        CHECK(problem.count_wrong() == 0);
        CHECK(object_count(named) == 0);
      }
    }
    library.api->close(handle);
  }
}

TEST_CASE("poolings that are refused, and errors") {
  test::use_fake_libraries();
  for (const PoolLibrary& named : pool_libraries) {
    const DnnLibrary library = named.open();
    CAPTURE(library.name);
    const DnnApi& api = *library.api;
    void* handle = nullptr;
    REQUIRE(api.open(handle) == 0);
    PoolProblem problem(false, BlasType::f32);
    PoolCall call = problem.call;
    call.type = BlasType::f64;
    CHECK(api.pool(handle, call) == blas_types);
    call = problem.call;
    call.r = 8;
    CHECK(api.pool(handle, call) == blas_invalid_call);
    call = problem.call;
    call.stride_w = 0;
    CHECK(api.pool(handle, call) == blas_invalid_call);
    call = problem.call;
    call.stride_h = std::int64_t{1} << 32;
    CHECK(api.pool(handle, call) == blas_too_large);
    CHECK(problem.count_wrong() == problem.y.size());  // none was queued
    setenv(named.fault, "error", 1);
    const int status = api.pool(handle, problem.call);
    CHECK(status > 0);
    CHECK(api.error_text(status).size() > 10);
    CHECK(object_count(named) == 0);
    setenv(named.fault, "block", 1);
    CHECK(api.pool(handle, problem.call) == 0);
    CHECK(problem.count_wrong() > 10);
    unsetenv(named.fault);
    api.close(handle);
  }
}

}  // namespace hiptool::hip
