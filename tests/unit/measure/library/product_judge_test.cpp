// SPDX-License-Identifier: MIT
#include "measure/library/product_judge.hpp"
#include "measure/library/shape.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace hiptool;
using namespace hiptool::measure;

namespace {

constexpr double everything = 1e6;  // seconds
constexpr double nothing = 0;

MatmulProblem problem_of(const char* shape, DType dtype, const char* transposes = "nn") {
  MatmulProblem problem;
  set_product_shape(problem, shape);
  set_transposes(problem, transposes);
  problem.dtype = dtype;
  problem.result = usual_result(dtype);
  problem.compute = usual_compute(dtype);
  return problem;
}

double get(DType dtype, const std::vector<std::byte>& bytes, std::uint64_t index) {
  const auto read = [&](auto value) {
    std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
    return value;
  };
  switch (dtype) {
    case DType::f64: return read(0.0);
    case DType::i8: return read(std::int8_t{0});
    case DType::i32: return read(std::int32_t{0});
    case DType::f16: return to_float(Half{read(std::uint16_t{0})});
    case DType::bf16: return to_float(BFloat16{read(std::uint16_t{0})});
    default: return read(0.0F);
  }
}

void put(DType dtype, std::vector<std::byte>& bytes, std::uint64_t index, double value) {
  const auto write = [&](auto stored) {
    std::memcpy(bytes.data() + index * sizeof(stored), &stored, sizeof(stored));
  };
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::f64: return write(value);
    case DType::i32: return write(static_cast<std::int32_t>(value));
    case DType::f16: return write(to_half(single).bits);
    case DType::bf16: return write(to_bfloat16(single).bits);
    default: return write(single);
  }
}

enum class Fault { none, tf32, half_sums, last_term, truncated, saturated };

double as_half(double value) { return to_float(to_half(static_cast<float>(value))); }

double as_tf32(double value) {
  auto single = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof(bits));
  bits = (bits + 0x1000) & ~0x1FFFu;
  std::memcpy(&single, &bits, sizeof(bits));
  return single;
}

/// To f32, towards zero.
double as_truncated(double value) {
  const auto single = static_cast<float>(value);
  return std::fabs(single) > std::fabs(value) ? std::nextafter(single, 0.0F) : single;
}

/// The product with sums in f32 (f64 for f64).
std::vector<std::byte> multiply(const MatmulProblem& problem, const ProblemData& data,
                                Fault fault = Fault::none) {
  std::vector<std::byte> result(problem.c_count() * element_size_bytes(problem.result));
  for (std::uint64_t at = 0; at < problem.c_count(); ++at) {
    const std::uint64_t batch = at / (problem.m * problem.n);
    const std::uint64_t i = at / problem.n % problem.m;
    const std::uint64_t j = at % problem.n;
    double sum = 0;
    const std::uint64_t terms = problem.k - (fault == Fault::last_term ? 1 : 0);
    for (std::uint64_t p = 0; p < terms; ++p) {
      const std::uint64_t left = problem.transpose_a ? p * problem.m + i : i * problem.k + p;
      const std::uint64_t right = problem.transpose_b ? j * problem.k + p : p * problem.n + j;
      double a = get(problem.dtype, data.a, batch * problem.m * problem.k + left);
      double b = get(problem.dtype, data.b, batch * problem.k * problem.n + right);
      if (fault == Fault::tf32) {
        a = as_tf32(a);
        b = as_tf32(b);
      }
      sum += a * b;
      if (problem.dtype == DType::i8) {
        if (fault == Fault::saturated) sum = std::clamp(sum, -0x1p31, 0x1p31 - 1);
        continue;
      }
      // As matrix units do, which add 16 products at a time.
      if (fault == Fault::truncated) {
        if (p % 16 == 15) sum = as_truncated(sum);
        continue;
      }
      if (problem.dtype != DType::f64) sum = static_cast<float>(sum);
      if (fault == Fault::half_sums) sum = as_half(sum);
    }
    if (problem.dtype == DType::i8) sum = std::remainder(sum, 0x1p32);
    if (sum == 0x1p31) sum = -0x1p31;
    put(problem.result, result, at, sum);
  }
  return result;
}

}  // namespace

TEST_CASE("judge of products: right ones of every type, transposed, in batches") {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const char* transposes : {"nn", "nt", "tn", "tt"}) {
      for (const DataKind kind : {DataKind::whole, DataKind::random}) {
        CAPTURE(to_string(dtype));
        CAPTURE(transposes);
        MatmulProblem problem = problem_of("37x41x70", dtype, transposes);
        problem.batch = 2;
        const ProblemData data = make_data(problem, kind, 3);
        const auto result = multiply(problem, data);
        const Judgement judged = judge_problem(problem, data, result, everything);
        CHECK_FALSE(judged.wrong);
        CHECK(judged.checked == problem.c_count());
        CHECK(judged.share == 1);
        CHECK_FALSE(judged.is_by_sums);
        CHECK((kind == DataKind::whole ? judged.max_error == 0 : judged.max_error > 0));
        const Judgement quick = judge_problem(problem, data, result, nothing);
        CHECK_FALSE(quick.wrong);
        CHECK(quick.is_by_sums == (kind == DataKind::whole));
      }
    }
  }
}

TEST_CASE("judge of products: a missing term, in every type and both data sets") {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const MatmulProblem problem = problem_of("40x50x600", dtype, "tn");
    for (const DataKind kind : {DataKind::whole, DataKind::random}) {
      const ProblemData data = make_data(problem, kind, 1);
      const auto result = multiply(problem, data, Fault::last_term);
      CHECK(judge_problem(problem, data, result, everything).wrong);
      CHECK(judge_problem(problem, data, result, nothing).wrong);
    }
  }
}

TEST_CASE("judge of products: TF32 and sums in halves are outside of the bound, unless asked for") {
  MatmulProblem problem = problem_of("64x64x512", DType::f32);
  ProblemData data = make_data(problem, DataKind::random, 1);
  auto result = multiply(problem, data, Fault::tf32);
  Judgement judged = judge_problem(problem, data, result, everything);
  REQUIRE(judged.wrong);
  CHECK(judged.where.starts_with("scattered"));
  problem.compute = Compute::tf32;
  CHECK_FALSE(judge_problem(problem, data, result, everything).wrong);

  problem = problem_of("64x64x512", DType::f16);
  data = make_data(problem, DataKind::random, 1);
  result = multiply(problem, data, Fault::half_sums);
  CHECK(judge_problem(problem, data, result, everything).wrong);
  problem.compute = Compute::f16;
  CHECK_FALSE(judge_problem(problem, data, result, everything).wrong);
}

TEST_CASE("judge of products: long sums that truncate are right; TF32 and sums in halves are not") {
  const auto is_wrong = [](DType dtype, const char* shape, Fault fault) {
    const MatmulProblem problem = problem_of(shape, dtype);
    const ProblemData data = make_data(problem, DataKind::random, 1);
    return judge_problem(problem, data, multiply(problem, data, fault), everything).wrong;
  };
  for (const char* shape : {"8x8x64", "8x8x1024", "8x8x16384", "4x4x65536"}) {
    CAPTURE(shape);
    for (const DType dtype : {DType::f16, DType::bf16}) {
      CHECK_FALSE(is_wrong(dtype, shape, Fault::truncated));
      CHECK_FALSE(is_wrong(dtype, shape, Fault::none));
    }
    CHECK_FALSE(is_wrong(DType::f32, shape, Fault::none));
    CHECK(is_wrong(DType::f32, shape, Fault::tf32));
    CHECK(is_wrong(DType::f16, shape, Fault::half_sums));
  }
  // Sums of f32 are rounded to nearest on every GPU.
  CHECK(is_wrong(DType::f32, "8x8x65536", Fault::truncated));
}

TEST_CASE("judge of products: the bound") {
  MatmulProblem problem = problem_of("1x1x1024", DType::f32);
  CHECK(bound_units_of(problem) == 256 * 0x1p-24);
  CHECK(bound_units_of(problem_of("1x1x1024", DType::f64)) == 256 * 0x1p-53);
  CHECK(bound_units_of(problem_of("1x1x1024", DType::f16)) == 512 * 0x1p-24);
  CHECK(bound_units_of(problem_of("1x1x1024", DType::bf16)) == 512 * 0x1p-24);
  problem.compute = Compute::tf32;
  CHECK(bound_units_of(problem) == 512 * 0x1p-11);
}

TEST_CASE("judge of products: i8 are exact in both data sets, compared and by checksums") {
  for (const char* transposes : {"nn", "nt", "tn", "tt"}) {
    CAPTURE(transposes);
    MatmulProblem problem = problem_of("37x41x70", DType::i8, transposes);
    problem.batch = 2;
    CHECK(bound_units_of(problem) == 0);
    for (const DataKind kind : {DataKind::whole, DataKind::random}) {
      const ProblemData data = make_data(problem, kind, 3);
      auto result = multiply(problem, data);
      for (const double budget : {everything, nothing}) {
        Judgement judged = judge_problem(problem, data, result, budget);
        CHECK_FALSE(judged.wrong);
        CHECK(judged.share == 1);
        CHECK(judged.max_error == 0);
        CHECK(judged.is_by_sums == (budget == nothing));
        auto wrong = result;
        const std::uint64_t at = (37 + 5) * 41 + 7;
        put(DType::i32, wrong, at, get(DType::i32, wrong, at) + 1);
        judged = judge_problem(problem, data, wrong, budget);
        REQUIRE(judged.wrong);
        CHECK(judged.where == "one element at [5,7], in 1 of 2 matrices");
        CHECK(judged.wrong->count == 1);
        CHECK(
            judge_problem(problem, data, multiply(problem, data, Fault::last_term), budget).wrong);
      }
    }
  }
}

TEST_CASE("judge of products: sums of i8 wrap") {
  for (const char* transposes : {"nn", "tt"}) {
    const MatmulProblem problem = problem_of("1x2x131072", DType::i8, transposes);
    const ProblemData data = make_data(problem, DataKind::random, 1);
    const auto right = multiply(problem, data);
    CHECK(get(DType::i32, right, 0) == -0x1p31);
    const auto saturated = multiply(problem, data, Fault::saturated);
    for (const double budget : {everything, nothing}) {
      CHECK_FALSE(judge_problem(problem, data, right, budget).wrong);
      const Judgement judged = judge_problem(problem, data, saturated, budget);
      REQUIRE(judged.wrong);
      CHECK(judged.where == "one element at [0,0]");
      CHECK(std::get<double>(judged.wrong->expected.data()) == -0x1p31);
      CHECK(judged.wrong->xor_bits == 0xFFFFFFFF);
    }
  }
  // Fewer terms cannot leave 32 bits.
  const MatmulProblem problem = problem_of("1x1x131071", DType::i8);
  const ProblemData data = make_data(problem, DataKind::random, 1);
  CHECK(multiply(problem, data) == multiply(problem, data, Fault::saturated));
}

TEST_CASE("judge of products: NaN, one element and a block are found at their places") {
  const MatmulProblem problem = problem_of("300x200x40", DType::f32);
  const ProblemData data = make_data(problem, DataKind::whole, 1);
  const auto right = multiply(problem, data);
  for (const double budget : {everything, nothing}) {
    auto result = right;
    put(DType::f32, result, 7 * 200 + 9, std::nan(""));
    Judgement judged = judge_problem(problem, data, result, budget);
    REQUIRE(judged.wrong);
    CHECK(judged.where == "one element at [7,9]");
    CHECK(judged.wrong->first_index == 7 * 200 + 9);
    CHECK(judged.wrong->count == 1);

    result = right;
    for (std::uint64_t row = 128; row < 192; ++row) {
      for (std::uint64_t column = 64; column < 128; ++column) {
        const double old = get(DType::f32, result, row * 200 + column);
        put(DType::f32, result, row * 200 + column, old + 1);
      }
    }
    judged = judge_problem(problem, data, result, budget);
    REQUIRE(judged.wrong);
    CHECK(judged.where == "64x64 block at [128,64]");
    CHECK(judged.wrong->first_index == 128 * 200 + 64);
    CHECK(judged.wrong->count == 64 * 64);
    CHECK(judged.counts_all);

    result = right;
    for (std::uint64_t i = 150 * 200; i < 300 * 200; ++i) put(DType::f32, result, i, 0.5);
    judged = judge_problem(problem, data, result, budget);
    CHECK(judged.where == "every row from 150");
    CHECK(judged.counts_all == (budget == everything));
  }
}

TEST_CASE("judge of products: two elements of a row exchanged are no right sum") {
  const MatmulProblem problem = problem_of("64x64x64", DType::f32);
  const ProblemData data = make_data(problem, DataKind::whole, 1);
  auto result = multiply(problem, data);
  std::uint64_t other = 1;
  while (get(DType::f32, result, other) == get(DType::f32, result, 0)) ++other;
  REQUIRE(other < 64);
  const double first = get(DType::f32, result, 0);
  put(DType::f32, result, 0, get(DType::f32, result, other));
  put(DType::f32, result, other, first);
  const Judgement judged = judge_problem(problem, data, result, nothing);
  REQUIRE(judged.wrong);
  CHECK(judged.wrong->count == 2);
}

TEST_CASE("judge of products: samples of random numbers state their share") {
  const MatmulProblem problem = problem_of("400x500x8", DType::f32);
  const ProblemData data = make_data(problem, DataKind::random, 1);
  auto result = multiply(problem, data);
  Judgement judged = judge_problem(problem, data, result, nothing);
  CHECK_FALSE(judged.wrong);
  CHECK(judged.share > 0.01);
  CHECK(judged.share < 0.1);
  put(DType::f32, result, problem.c_count() - 1, 99);  // an edge
  judged = judge_problem(problem, data, result, nothing);
  REQUIRE(judged.wrong);
  CHECK(judged.where == "one element at [399,499]");
}

TEST_CASE("judge of products: data depends on the seed; whole numbers keep sums exact") {
  const MatmulProblem problem = problem_of("8x8x4096", DType::bf16);
  const ProblemData data = make_data(problem, DataKind::whole, 1);
  CHECK(make_data(problem, DataKind::whole, 1).a == data.a);
  CHECK(make_data(problem, DataKind::whole, 2).a != data.a);
  CHECK(data.most == 1);
  CHECK(make_data(problem_of("8x8x4096", DType::f32), DataKind::whole, 1).most == 8);
  const auto result = multiply(problem, data);
  std::uint64_t others = 0;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const double sum = get(DType::bf16, result, i);
    CHECK(std::fabs(sum) <= 256);
    others += sum != 0 ? 1 : 0;
  }
  CHECK(others > 32);
}

TEST_CASE("places of wrong elements in words") {
  const auto marks = [](std::uint64_t size, std::uint64_t first, std::uint64_t count,
                        std::uint64_t step = 1) {
    std::vector<bool> list(size);
    for (std::uint64_t i = 0; i < count; ++i) list[first + i * step] = true;
    return list;
  };
  const auto all = marks(100, 0, 100);
  CHECK(describe_places(all, all, 10000, 10000) == "every element");
  CHECK(describe_places(marks(100, 5, 1), all, 100, 100) == "row 5");
  CHECK(describe_places(all, marks(100, 40, 60), 6000, 6000) == "every column from 40");
  CHECK(describe_places(marks(100, 16, 16), all, 1600, 1600) == "rows 16 to 31");
  CHECK(describe_places(marks(100, 1, 50, 2), all, 5000, 9900) == "one row in 2 from 1");
  CHECK(describe_places(all, all, 900, 10000) == "scattered");
  CHECK(describe_places(marks(100, 64, 36), marks(100, 64, 36), 1296, 1296) ==
        "36x36 block at [64,64]");
  CHECK(describe_places(marks(100, 60, 20), marks(100, 10, 30), 60, 600) ==
        "scattered in the 20x30 elements from [60,10]");
  CHECK(describe_places(marks(9, 0, 0), marks(9, 0, 0), 0, 0).empty());
}
