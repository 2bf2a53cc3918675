// SPDX-License-Identifier: MIT
/// The judge of convolutions, compared with the text-book version of the operation.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hiptool/conv.hpp"
#include "measure/library/judge.hpp"
#include "measure/library/shape.hpp"
#include "ops/reference/conv.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

constexpr double all_the_time = 1e6;  // seconds
constexpr double no_time = 0;

ConvProblem conv_of(const char* shape, DType dtype) {
  ConvProblem problem;
  set_conv_shape(problem, shape);
  problem.dtype = dtype;
  problem.result = dtype;
  problem.compute = usual_compute(dtype);
  return problem;
}

/// The results of the text-book version, rounded to the type.
ops::reference::Values right_values(const ConvProblem& problem, const ProblemData& data) {
  namespace reference = ops::reference;
  ops::ConvOptions options;
  options.stride = problem.stride;
  options.padding = problem.padding;
  options.dilation = problem.dilation;
  options.groups = problem.groups;
  const auto values = [&](const std::vector<std::byte>& bytes, std::vector<std::uint64_t> dims) {
    return reference::values_of(problem.dtype, bytes, dims);
  };
  return reference::conv2d(
             problem.dtype, values(data.b, {problem.n, problem.c, problem.h, problem.w}),
             values(data.a, {problem.k, problem.c / problem.groups, problem.r, problem.s}), options)
      .values;
}

std::vector<std::byte> right_result(const ConvProblem& problem, const ProblemData& data) {
  return ops::reference::bytes_of(problem.dtype, right_values(problem, data));
}

}  // namespace

TEST_CASE("judge of convolutions: the text-book result is right, every part of the shape counts") {
  for (const char* shape :
       {"n2c6h9w7:k4r3s2u2x1p2x1d1x3g2", "n2c3h8w9:k5r3s3p1", "n1c4h7w7:k4r3s3g4p1",
        "n3c5h6w5:k7r1s1", "n1c2h9w9:k3r3s3p3u2", "n2c8h5w5:k70r2s3"}) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      for (const DataKind kind : {DataKind::whole, DataKind::random}) {
        CAPTURE(shape);
        CAPTURE(to_string(dtype));
        CAPTURE(to_string(kind));
        const ConvProblem problem = conv_of(shape, dtype);
        const ProblemData data = make_data(problem, kind, 5);
        const auto result = right_result(problem, data);
        for (const double budget : {all_the_time, no_time}) {
          const Judgement judged = judge_problem(problem, data, result, budget);
          CHECK_FALSE(judged.wrong);
          CHECK(judged.max_error <= 1);
          if (budget == no_time) continue;
          CHECK(judged.checked == problem.c_count());
          CHECK(judged.share == 1);
        }
        // Every element counts: none is judged by another's sum.
        auto wrong = right_values(problem, data);
        for (const std::uint64_t index :
             {std::uint64_t{0}, problem.c_count() / 2 + 1, problem.c_count() - 1}) {
          auto changed = wrong;
          changed.at[index] += 2;
          const auto bytes = ops::reference::bytes_of(dtype, changed);
          if (bytes == result) continue;  // a large half
          const Judgement judged = judge_problem(problem, data, bytes, all_the_time);
          REQUIRE(judged.wrong);
          CHECK(judged.wrong->first_index == index);
          CHECK(judged.wrong->count == 1);
        }
      }
    }
  }
}

TEST_CASE("judge of convolutions: neither stride, padding, dilation nor groups may be ignored") {
  const ConvProblem problem = conv_of("n2c4h9w8:k4r3s3u1p1d1g2", DType::f32);
  const ProblemData data = make_data(problem, DataKind::whole, 1);
  const ConvProblem turned = conv_of("n2c4h8w9:k4r3s3p1g2", DType::f32);
  CHECK(judge_problem(problem, data, right_result(turned, data), all_the_time).wrong);
  // As many results, of other elements.
  const ConvProblem dilated = conv_of("n2c4h9w8:k4r3s3p2d2g2", DType::f32);
  CHECK(judge_problem(problem, data, right_result(dilated, data), all_the_time).wrong);
  CHECK(judge_problem(problem, data, right_result(dilated, data), no_time).wrong);
}

TEST_CASE("judge of convolutions: places are channels and pixels") {
  const ConvProblem problem = conv_of("n2c4h12w12:k40r3s3p1", DType::f32);
  const ProblemData data = make_data(problem, DataKind::whole, 1);
  const auto right = right_values(problem, data);
  const std::uint64_t plane = 144;
  for (const double budget : {all_the_time, no_time}) {
    auto wrong = right;
    for (std::uint64_t i = 0; i < plane; ++i) wrong.at[(40 + 7) * plane + i] += 1;
    Judgement judged =
        judge_problem(problem, data, ops::reference::bytes_of(DType::f32, wrong), budget);
    REQUIRE(judged.wrong);
    CHECK(judged.where == "channel 7, in 1 of 2 images");
    CHECK(judged.wrong->count == plane);
    CHECK(judged.wrong->first_index == 47 * plane);
    CHECK(judged.is_by_sums == (budget == no_time));

    wrong = right;
    for (std::uint64_t i = 0; i < 80; ++i) wrong.at[i * plane + 143] += 1;
    judged = judge_problem(problem, data, ops::reference::bytes_of(DType::f32, wrong), budget);
    CHECK(judged.where == "pixel 143, in 2 of 2 images");
  }
}

TEST_CASE("judge of convolutions: whole numbers by transforms are near, and no term is missing") {
  const ConvProblem problem = conv_of("n2c16h12w12:k20r3s3p1", DType::f32);
  const ProblemData data = make_data(problem, DataKind::whole, 1);
  auto near = right_values(problem, data);
  for (std::size_t i = 0; i < near.at.size(); ++i) near.at[i] += i % 2 == 0 ? 3e-5L : -3e-5L;
  const auto bytes = ops::reference::bytes_of(DType::f32, near);
  for (const double budget : {all_the_time, no_time}) {
    CHECK(judge_problem(problem, data, bytes, budget).wrong);
    CHECK_FALSE(judge_problem(problem, data, bytes, budget, Transforms::allowed).wrong);
    auto missing = near;
    missing.at[500] += 1;
    const Judgement judged = judge_problem(
        problem, data, ops::reference::bytes_of(DType::f32, missing), budget, Transforms::allowed);
    REQUIRE(judged.wrong);
    CHECK(judged.wrong->first_index == 500);
    missing.at[500] = std::nan("");
    CHECK(judge_problem(problem, data, ops::reference::bytes_of(DType::f32, missing), budget,
                        Transforms::allowed)
              .wrong);
  }
}

TEST_CASE("judge of convolutions: sums in f16 are outside of the bound") {
  const ConvProblem problem = conv_of("n1c1h48w50:k1r23s23", DType::f16);  // of the traps
  const ProblemData data = make_data(problem, DataKind::random, 1);
  const auto right = right_values(problem, data);
  auto wrong = right;
  for (long double& value : wrong.at) value *= 1 + 0x1p-8L;  // a few units
  CHECK_FALSE(
      judge_problem(problem, data, ops::reference::bytes_of(DType::f16, right), all_the_time)
          .wrong);
  CHECK(judge_problem(problem, data, ops::reference::bytes_of(DType::f16, wrong), all_the_time)
            .wrong);
}

TEST_CASE("judge of convolutions: whole numbers become smaller where the bound would be wide") {
  CHECK(make_data(conv_of("n1c1h4w4:k1r3s3", DType::f32), DataKind::whole, 1).most == 8);
  CHECK(make_data(conv_of("n1c4096h3w3:k1r3s3", DType::f32), DataKind::whole, 1).most < 8);
}
