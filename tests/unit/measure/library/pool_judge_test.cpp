// SPDX-License-Identifier: MIT
#include "measure/library/pool_judge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

PoolProblem pooling(bool is_average) {
  Problem problem = empty_problem(is_average ? ProblemKind::avg_pool2d : ProblemKind::max_pool2d);
  set_shape(problem, "n2c3h7w6:r3s2u2x1");
  return std::get<PoolProblem>(problem);
}

/// Computed in f32 as a library may: the sum times the rounded reciprocal of the window's size.
std::vector<float> by_reciprocal(const PoolProblem& problem, const ProblemData& data) {
  std::vector<float> x(data.b.size() / sizeof(float));
  std::memcpy(x.data(), data.b.data(), data.b.size());
  std::vector<float> results;
  for (std::uint64_t plane = 0; plane < problem.n * problem.c; ++plane) {
    for (std::uint64_t row = 0; row < problem.out_height(); ++row) {
      for (std::uint64_t column = 0; column < problem.out_width(); ++column) {
        float sum = 0;
        float most = -std::numeric_limits<float>::infinity();
        for (std::uint64_t i = 0; i < problem.terms(); ++i) {
          const std::uint64_t y = row * problem.stride[0] + i / problem.window[1];
          const float one = x[(plane * problem.h + y) * problem.w + column * problem.stride[1] +
                              i % problem.window[1]];
          sum += one;
          most = std::max(most, one);
        }
        results.push_back(problem.is_average ? sum * (1.0F / static_cast<float>(problem.terms()))
                                             : most);
      }
    }
  }
  return results;
}

Judgement judged(const PoolProblem& problem, const ProblemData& data,
                 const std::vector<float>& results) {
  return judge_pooling(problem, data, std::as_bytes(std::span(results)));
}

}  // namespace

TEST_CASE("poolings: right ones are right, in whole and in random numbers") {
  for (const bool is_average : {true, false}) {
    for (const DataKind kind : {DataKind::whole, DataKind::random}) {
      const PoolProblem problem = pooling(is_average);
      const ProblemData data = make_data(problem, kind, 5);
      CHECK(data.a.empty());
      const Judgement found = judged(problem, data, by_reciprocal(problem, data));
      CHECK(found.checked == 2 * 3 * 3 * 5);
      CHECK_FALSE(found.wrong.has_value());
      CHECK(found.max_error <= 1);
    }
  }
}

TEST_CASE("poolings: one wrong element is found and placed") {
  for (const bool is_average : {true, false}) {
    const PoolProblem problem = pooling(is_average);
    const ProblemData data = make_data(problem, DataKind::random, 5);
    const std::vector<float> right = by_reciprocal(problem, data);
    const std::size_t place = 2 * 15 + 7;
    for (const float wrong :
         {right[place] + 1e-4F, std::numeric_limits<float>::quiet_NaN(), -right[place]}) {
      std::vector<float> results = right;
      results[place] = wrong;
      const Judgement found = judged(problem, data, results);
      REQUIRE(found.wrong.has_value());
      CHECK(found.wrong->first_index == place);
      CHECK(found.wrong->count == 1);
      CHECK(found.wrong->xor_bits != 0);
      CHECK(found.where == "one element at [2,7]");
      CHECK(found.max_error > 1);
    }
  }
}

TEST_CASE("poolings: a window too narrow, a stride of 1 and a plane of another image are wrong") {
  const PoolProblem problem = pooling(true);
  const ProblemData data = make_data(problem, DataKind::whole, 5);
  PoolProblem other = problem;
  other.window = {2, 2};
  std::vector<float> narrow = by_reciprocal(other, data);
  narrow.resize(by_reciprocal(problem, data).size());
  CHECK(judged(problem, data, narrow).wrong.has_value());
  std::vector<float> shifted = by_reciprocal(problem, data);
  std::rotate(shifted.begin(), shifted.begin() + 45, shifted.end());
  const Judgement found = judged(problem, data, shifted);
  REQUIRE(found.wrong.has_value());
  CHECK(found.wrong->count > 45);
}

TEST_CASE("poolings: shapes, refusals and what an element is called") {
  Problem problem = empty_problem(ProblemKind::max_pool2d);
  set_shape(problem, "n1c2h5w7:r2s3");
  CHECK(shape_word(problem) == "n1c2h5w7:r2s3");
  CHECK(c_count(problem) == 2 * 2 * 2);
  CHECK(flops_of(problem) == 8 * 6);
  CHECK(place_word(problem, 7) == "image 0, channel 1, row 1, column 1");
  CHECK(to_string(kind_of(problem)) == "max_pool2d");
  set_shape(problem, "n1c2h5w7:r2s3u2x3");
  CHECK(shape_word(problem) == "n1c2h5w7:r2s3");
  set_shape(problem, "n1c2h5w7:r2s3u1");
  CHECK(shape_word(problem) == "n1c2h5w7:r2s3u1");
  for (const char* wrong : {"", "n1c2h5w7", "n1c2h5w7:r2", "n1c2h5w7:r6s2", "n1c2h5w7:r2s2p1",
                            "n1c2h5w7:k1r2s2", "n16777216c16777216h5w7:r2s2", "4x4x4"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(set_shape(problem, wrong), Error);
  }
}
