// SPDX-License-Identifier: MIT
/// Convolutions by the fake libraries, with their results.
#pragma once
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "hip/dnn.hpp"
#include "unit/hip/temporary_tree.hpp"

namespace hiptool::test {

using hip::ConvCall;

inline void use_fake_libraries() {
  setenv("HIPTOOL_LIBRARY_PATH", fake_library("FAKE_BLAS_FOLDER").c_str(), 1);
}

/// Of a library that this process has loaded.
inline void* symbol_of(const std::string& path, const char* name) {
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  REQUIRE(handle != nullptr);
  void* symbol = dlsym(handle, name);
  REQUIRE(symbol != nullptr);
  return symbol;
}

struct ConvProblem {
  ConvCall call;
  std::vector<float> x;
  std::vector<float> filter;
  std::vector<float> y;

  explicit ConvProblem(const ConvCall& shape) : call(shape) {
    x = random(call.n * call.c * call.h * call.w);
    filter = random(call.k * (call.c / call.groups) * call.r * call.s);
    const std::int64_t count = call.n * call.k * call.out_height() * call.out_width();
    y.assign(static_cast<std::size_t>(count), NAN);
    call.x = x.data();
    call.filter = filter.data();
    call.y = y.data();
  }

  static std::vector<float> random(std::int64_t count) {
    static std::mt19937 generator(11);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& number : numbers) number = values(generator);
    return numbers;
  }

  float input(std::int64_t image, std::int64_t channel, std::int64_t row,
              std::int64_t column) const {
    if (row < 0 || column < 0 || row >= call.h || column >= call.w) return 0;
    return x[std::size_t(((image * call.c + channel) * call.h + row) * call.w + column)];
  }

  double expected(std::int64_t image, std::int64_t k, std::int64_t row, std::int64_t column) const {
    const std::int64_t in_group = call.c / call.groups;
    const std::int64_t group = k / (call.k / call.groups);
    double sum = 0;
    for (std::int64_t c = 0; c < in_group; ++c) {
      for (std::int64_t r = 0; r < call.r; ++r) {
        for (std::int64_t s = 0; s < call.s; ++s) {
          sum += double(input(image, group * in_group + c,
                              row * call.stride_h - call.pad_h + r * call.dilation_h,
                              column * call.stride_w - call.pad_w + s * call.dilation_w)) *
                 double(filter[std::size_t(((k * in_group + c) * call.r + r) * call.s + s)]);
        }
      }
    }
    return sum;
  }

  int count_wrong() const {
    int wrong = 0;
    std::size_t at = 0;
    for (std::int64_t image = 0; image < call.n; ++image) {
      for (std::int64_t k = 0; k < call.k; ++k) {
        for (std::int64_t row = 0; row < call.out_height(); ++row) {
          for (std::int64_t column = 0; column < call.out_width(); ++column, ++at) {
            if (!(std::fabs(y[at] - expected(image, k, row, column)) <= 1e-5)) ++wrong;
          }
        }
      }
    }
    return wrong;
  }
};

inline ConvCall grouped_shape() {
  ConvCall call;
  call.n = 2;
  call.c = 6;
  call.h = 9;
  call.w = 7;
  call.k = 4;
  call.r = 3;
  call.s = 2;
  call.pad_h = 2;
  call.pad_w = 1;
  call.stride_h = 2;
  call.stride_w = 1;
  call.dilation_h = 1;
  call.dilation_w = 3;
  call.groups = 2;
  return call;
}

}  // namespace hiptool::test
