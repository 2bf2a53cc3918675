// SPDX-License-Identifier: MIT
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "hip/blas.hpp"

namespace hiptool::test {

using hip::BlasCompute;
using hip::BlasType;
using hip::GemmCall;

/// A row-major product with distances between rows and matrices, of f32 or f64.
template <class Number>
struct Problem {
  GemmCall call;
  std::vector<Number> a;
  std::vector<Number> b;
  std::vector<Number> c;
  std::vector<Number> before;

  Problem(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a, bool transpose_b,
          std::int64_t gap, std::int64_t batch) {
    constexpr bool is_f64 = sizeof(Number) == 8;
    call.a_type = call.b_type = call.c_type = is_f64 ? BlasType::f64 : BlasType::f32;
    call.compute = is_f64 ? BlasCompute::f64 : BlasCompute::f32;
    call.transpose_a = transpose_a;
    call.transpose_b = transpose_b;
    call.m = m;
    call.n = n;
    call.k = k;
    call.lda = (transpose_a ? m : k) + gap;
    call.ldb = (transpose_b ? k : n) + gap;
    call.ldc = n + gap;
    call.batch = batch;
    call.stride_a = (transpose_a ? k : m) * call.lda + gap;
    call.stride_b = (transpose_b ? n : k) * call.ldb + gap;
    call.stride_c = m * call.ldc + gap;
    a = random(call.stride_a * batch);
    b = random(call.stride_b * batch);
    before = c = random(call.stride_c * batch);
    point();
  }

  void point() {
    call.a = a.data();
    call.b = b.data();
    call.c = c.data();
  }

  static std::vector<Number> random(std::int64_t count) {
    static std::mt19937 generator(7);
    std::uniform_real_distribution<Number> values(-1, 1);
    std::vector<Number> numbers(static_cast<std::size_t>(count));
    for (Number& number : numbers) number = values(generator);
    return numbers;
  }

  double expected(std::int64_t index, std::int64_t row, std::int64_t column, double& bound) const {
    double sum = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < call.k; ++i) {
      const std::int64_t from_a =
          index * call.stride_a + (call.transpose_a ? i * call.lda + row : row * call.lda + i);
      const std::int64_t from_b =
          index * call.stride_b +
          (call.transpose_b ? column * call.ldb + i : i * call.ldb + column);
      const double term = double(a[std::size_t(from_a)]) * double(b[std::size_t(from_b)]);
      sum += term;
      squares += term * term;
    }
    const double unit = sizeof(Number) == 8 ? 0x1p-53 : 0x1p-24;
    const double old = before[place(index, row, column)];
    const double value = call.alpha * sum + (call.beta != 0 ? call.beta * old : 0);
    const auto k = static_cast<double>(call.k);
    bound = (8 * std::sqrt(k) + k / 8) * unit * std::sqrt(squares) + 4 * unit * std::fabs(value) +
            4 * unit * std::fabs(call.beta);
    return value;
  }

  std::size_t place(std::int64_t index, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(index * call.stride_c + row * call.ldc + column);
  }

  /// Elements that are off the bound, and those between the matrices that were changed.
  std::int64_t count_wrong() const {
    std::int64_t wrong = 0;
    std::vector<bool> is_inside(c.size());
    for (std::int64_t i = 0; i < call.batch; ++i) {
      for (std::int64_t row = 0; row < call.m; ++row) {
        for (std::int64_t column = 0; column < call.n; ++column) {
          double bound = 0;
          const double want = expected(i, row, column, bound);
          is_inside[place(i, row, column)] = true;
          if (!(std::fabs(c[place(i, row, column)] - want) <= bound)) ++wrong;
        }
      }
    }
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (!is_inside[i] && std::memcmp(&c[i], &before[i], sizeof(Number)) != 0) ++wrong;
    }
    return wrong;
  }
};

}  // namespace hiptool::test
