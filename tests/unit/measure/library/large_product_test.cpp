// SPDX-License-Identifier: MIT
#include "measure/library/large_product.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "measure/library/measure.hpp"
#include "unit/measure/devices.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

constexpr std::uint64_t long_side = 3 * LargeProduct::period + 1000;

MatmulProblem large_problem(bool is_of_rows, const char* transposes, DType dtype = DType::f32) {
  Problem problem = MatmulProblem();
  set_shape(problem, is_of_rows ? std::to_string(long_side) + "x5x7"
                                : "5x" + std::to_string(long_side) + "x7");
  set_dtype(problem, dtype);
  MatmulProblem product = *matmul_of(problem);
  set_transposes(product, transposes);
  return product;
}

/// The three matrices on the cpu, and the product of what the device holds, by this test.
struct Matrices {
  explicit Matrices(const MatmulProblem& problem)
      : a(devices[0], problem.a_count() * sizeof(float)),
        b(devices[0], problem.b_count() * sizeof(float)),
        c(devices[0], problem.c_count() * sizeof(float)),
        stream(devices[0]) {}

  static float* floats(const Buffer& buffer) { return static_cast<float*>(buffer.address()); }

  void multiply(const MatmulProblem& problem) const {
    for (std::uint64_t i = 0; i < problem.m; ++i) {
      for (std::uint64_t j = 0; j < problem.n; ++j) {
        float sum = 0;
        for (std::uint64_t p = 0; p < problem.k; ++p) {
          sum += floats(a)[problem.transpose_a ? p * problem.m + i : i * problem.k + p] *
                 floats(b)[problem.transpose_b ? j * problem.k + p : p * problem.n + j];
        }
        floats(c)[i * problem.n + j] = sum;
      }
    }
  }

  test::CpuDevices devices;
  Buffer a;
  Buffer b;
  Buffer c;
  Stream stream;
};

}  // namespace

TEST_CASE("large products: right ones, rows or columns that repeat, stored in every way") {
  for (const bool is_of_rows : {true, false}) {
    for (const char* transposes : {"nn", "nt", "tn", "tt"}) {
      for (const DataKind kind : {DataKind::whole, DataKind::random}) {
        CAPTURE(is_of_rows);
        CAPTURE(transposes);
        const MatmulProblem problem = large_problem(is_of_rows, transposes);
        const Matrices all(problem);
        const LargeProduct product(problem, kind, 1);
        product.write(all.a, all.b, all.stream);
        CHECK(product.is_intact(all.a, all.b, all.stream));
        all.multiply(problem);
        const Judgement judged = product.judge(all.c, all.stream, 5);
        CHECK_FALSE(judged.wrong);
        CHECK(judged.checked >= 5 * LargeProduct::period);
        if (kind == DataKind::whole) CHECK(judged.share == 1);
        for (const Buffer& operand : {all.a, all.b}) {
          float& last = Matrices::floats(operand)[operand.size_bytes() / sizeof(float) - 1];
          const float kept = std::exchange(last, 77.0F);
          CHECK_FALSE(product.is_intact(all.a, all.b, all.stream));
          last = kept;
        }
      }
    }
  }
}

TEST_CASE("large products: the faults of the reports are found") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  using Fault = std::function<void(float* c, std::uint64_t m, std::uint64_t n)>;
  struct Case {
    const char* name;
    Fault spoil;
    const char* where;
  };
  const auto tail_of = [&](std::uint64_t from) {
    return [from, nan](float* c, std::uint64_t m, std::uint64_t n) {
      for (std::uint64_t i = 0; i < m; ++i) {
        for (std::uint64_t j = 0; j < n; ++j) {
          if (std::max(i, j) >= from) c[i * n + j] = nan;
        }
      }
    };
  };
  // Rows (or columns) from 8192 on are those of 8192 less, as with an index that lost a bit.
  const auto lost_bit = [](float* c, std::uint64_t m, std::uint64_t n) {
    for (std::uint64_t i = 0; i < m; ++i) {
      for (std::uint64_t j = 0; j < n; ++j) {
        const bool is_high = std::max(i, j) >= 8192;
        if (is_high) c[i * n + j] = m > n ? c[(i - 8192) * n + j] : c[i * n + j - 8192];
      }
    }
  };
  const auto one = [](float* c, std::uint64_t m, std::uint64_t n) { c[m * n - 3] += 1; };
  for (const bool is_of_rows : {true, false}) {
    const std::string name = is_of_rows ? "row" : "column";
    for (const Case& fault : {Case{"unwritten", tail_of(9000), " from 9000"},
                              Case{"lost bit", lost_bit, "8192"}, Case{"one element", one, "["}}) {
      CAPTURE(is_of_rows);
      CAPTURE(fault.name);
      const MatmulProblem problem = large_problem(is_of_rows, "nn");
      const Matrices all(problem);
      const LargeProduct product(problem, DataKind::whole, 1);
      product.write(all.a, all.b, all.stream);
      all.multiply(problem);
      fault.spoil(Matrices::floats(all.c), problem.m, problem.n);
      const Judgement judged = product.judge(all.c, all.stream, 5);
      REQUIRE(judged.wrong);
      CAPTURE(judged.where);
      CHECK(judged.where.find(fault.where) != std::string::npos);
      CHECK(product.is_still_wrong(all.c, *judged.wrong, all.stream));
      if (std::string(fault.name) == "one element") {
        CHECK(judged.wrong->count == 1);
        CHECK(judged.wrong->first_index == problem.c_count() - 3);
        Matrices::floats(all.c)[problem.c_count() - 3] -= 1;
        CHECK_FALSE(product.is_still_wrong(all.c, *judged.wrong, all.stream));
      }
    }
  }
}

TEST_CASE("large products: random numbers are judged at the start and in other periods") {
  for (const bool is_of_rows : {true, false}) {
    const MatmulProblem problem = large_problem(is_of_rows, "nt");
    for (const std::uint64_t at : {std::uint64_t{0}, long_side - 1}) {
      const Matrices all(problem);
      const LargeProduct product(problem, DataKind::random, 2);
      product.write(all.a, all.b, all.stream);
      all.multiply(problem);
      Matrices::floats(all.c)[is_of_rows ? at * 5 : at] += 0.1F;
      const Judgement judged = product.judge(all.c, all.stream, 5);
      REQUIRE(judged.wrong);
      CHECK(judged.wrong->count == 1);
      CHECK(judged.wrong->first_index == (is_of_rows ? at * 5 : at));
    }
  }
}

TEST_CASE("large products: the whole measurement, and memory that is not there") {
  test::CpuDevices devices;
  LibraryOptions options;
  options.samples = 1;
  options.large_bytes = 1;
  const MatmulProblem problem = large_problem(true, "nn");
  const LibraryResult result = measure_problem(devices[0], problem, "own", options);
  CHECK(result.status == Status::ok);
  CHECK(result.samples_s.size() == 1);
  CHECK(result.checked > problem.c_count());
  // Four TiB.
  Problem huge = MatmulProblem();
  set_shape(huge, "1x68719476736x16");
  const LibraryResult skipped = measure_problem(devices[0], huge, "own", options);
  CHECK(skipped.status == Status::skipped);
  CHECK(skipped.reason.find("not possible here: 1x68719476736x16 needs") != std::string::npos);
}

TEST_CASE("large products: which they are, and the shapes of the reports") {
  std::uint64_t large = 0;
  for (const Trap& trap : traps_of(ProblemKind::matmul)) {
    CAPTURE(trap.report);
    if (!is_large_product(trap.problem)) continue;
    ++large;
    Problem problem = trap.problem;
    CHECK(fit_trap(problem, false, 1).empty());  // a smaller one would show nothing
    CHECK(shape_word(problem) == shape_word(trap.problem));
    CHECK(missing_memory(problem, bytes_of(problem)).find("needs") == 0);
    CHECK(missing_memory(problem, 2 * bytes_of(problem)).empty());
    CHECK(fit_trap(problem, true, ~std::uint64_t{0}).find("made for GPUs") != std::string::npos);
    CHECK(bytes_of(problem) <= 64u << 20);
  }
  CHECK(large >= 4);
  Problem cube = default_problem(ProblemKind::matmul, true);
  CHECK_FALSE(is_large_product(cube, 0));
  set_shape(cube, "65536x65536x65536");  // its sums are too long for one period
  CHECK_FALSE(is_large_product(cube));
  CHECK_FALSE(is_large_product(default_problem(ProblemKind::conv2d, false), 0));
}
