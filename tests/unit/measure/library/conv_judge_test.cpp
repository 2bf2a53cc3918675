// SPDX-License-Identifier: MIT
/// The judge of convolutions, compared with the text-book version of the operation.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hiptool/conv.hpp"
#include "measure/library/product_judge.hpp"
#include "measure/library/shape.hpp"
#include "reference/ops/conv.hpp"

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
reference::Values right_values(const ConvProblem& problem, const ProblemData& data) {
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
  return reference::bytes_of(problem.dtype, right_values(problem, data));
}

/// Winograd's F(4x4, 3x3), all steps in f32, for one image and sizes of results that are multiples
/// of 4. Matrices of A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks".
class Winograd {
 public:
  Winograd(const ConvProblem& problem, const reference::Values& images,
           const reference::Values& weights)
      : problem_(problem), images_(images), weights_(weights) {}

  reference::Values run() const {
    const std::uint64_t height = problem_.h - 2;
    const std::uint64_t width = problem_.w - 2;
    reference::Values result;
    result.at.resize(problem_.k * height * width);
    for (std::uint64_t k = 0; k < problem_.k; ++k) {
      for (std::uint64_t row = 0; row < height; row += 4) {
        for (std::uint64_t column = 0; column < width; column += 4) {
          const Matrix<4, 4> tile = tile_at(k, row, column);
          for (std::uint64_t i = 0; i < 16; ++i) {
            result.at[(k * height + row + i / 4) * width + column + i % 4] = tile[i / 4][i % 4];
          }
        }
      }
    }
    return result;
  }

 private:
  template <std::size_t rows, std::size_t columns>
  using Matrix = std::array<std::array<float, columns>, rows>;

  static constexpr Matrix<6, 6> of_images{{{4, 0, -5, 0, 1, 0},
                                           {0, -4, -4, 1, 1, 0},
                                           {0, 4, -4, -1, 1, 0},
                                           {0, -2, -1, 2, 1, 0},
                                           {0, 2, -1, -2, 1, 0},
                                           {0, 4, 0, -5, 0, 1}}};
  static constexpr Matrix<6, 3> of_weights{{{1.F / 4, 0, 0},
                                            {-1.F / 6, -1.F / 6, -1.F / 6},
                                            {-1.F / 6, 1.F / 6, -1.F / 6},
                                            {1.F / 24, 1.F / 12, 1.F / 6},
                                            {1.F / 24, -1.F / 12, 1.F / 6},
                                            {0, 0, 1}}};
  static constexpr Matrix<4, 6> of_results{
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};

  // left x right x the transpose of left.
  template <std::size_t rows, std::size_t size>
  static Matrix<rows, rows> around(const Matrix<rows, size>& left,
                                   const Matrix<size, size>& right) {
    Matrix<rows, size> half{};
    Matrix<rows, rows> whole{};
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        for (std::size_t k = 0; k < size; ++k) half[i][j] += left[i][k] * right[k][j];
      }
      for (std::size_t j = 0; j < rows; ++j) {
        for (std::size_t k = 0; k < size; ++k) whole[i][j] += half[i][k] * left[j][k];
      }
    }
    return whole;
  }

  template <std::size_t size>
  static Matrix<size, size> part_of(const reference::Values& values, std::uint64_t first,
                                    std::uint64_t width) {
    Matrix<size, size> part{};
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        part[i][j] = static_cast<float>(values.at[first + i * width + j]);
      }
    }
    return part;
  }

  Matrix<4, 4> tile_at(std::uint64_t k, std::uint64_t row, std::uint64_t column) const {
    Matrix<6, 6> sums{};
    for (std::uint64_t c = 0; c < problem_.c; ++c) {
      const std::uint64_t first = (c * problem_.h + row) * problem_.w + column;
      const auto image = around(of_images, part_of<6>(images_, first, problem_.w));
      const auto weight = around(of_weights, part_of<3>(weights_, (k * problem_.c + c) * 9, 3));
      for (std::size_t i = 0; i < 36; ++i) {
        sums[i / 6][i % 6] += image[i / 6][i % 6] * weight[i / 6][i % 6];
      }
    }
    return around(of_results, sums);
  }

  const ConvProblem& problem_;
  const reference::Values& images_;
  const reference::Values& weights_;
};

/// Numbers of f32 with the 11 digits of TF32.
std::vector<std::byte> in_tf32(std::vector<std::byte> numbers) {
  for (std::size_t at = 0; at < numbers.size(); at += sizeof(std::uint32_t)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &numbers[at], sizeof bits);
    bits = (bits + 0x1000) & ~std::uint32_t{0x1FFF};
    std::memcpy(&numbers[at], &bits, sizeof bits);
  }
  return numbers;
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
          const auto bytes = reference::bytes_of(dtype, changed);
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
    Judgement judged = judge_problem(problem, data, reference::bytes_of(DType::f32, wrong), budget);
    REQUIRE(judged.wrong);
    CHECK(judged.where == "channel 7, in 1 of 2 images");
    CHECK(judged.wrong->count == plane);
    CHECK(judged.wrong->first_index == 47 * plane);
    CHECK(judged.is_by_sums == (budget == no_time));

    wrong = right;
    for (std::uint64_t i = 0; i < 80; ++i) wrong.at[i * plane + 143] += 1;
    judged = judge_problem(problem, data, reference::bytes_of(DType::f32, wrong), budget);
    CHECK(judged.where == "pixel 143, in 2 of 2 images");
  }
}

TEST_CASE("judge of convolutions: whole numbers by transforms are near, and no term is missing") {
  const ConvProblem problem = conv_of("n2c16h12w12:k20r3s3p1", DType::f32);
  const ProblemData data = make_data(problem, DataKind::whole, 1);
  auto near = right_values(problem, data);
  for (std::size_t i = 0; i < near.at.size(); ++i) near.at[i] += i % 2 == 0 ? 3e-5L : -3e-5L;
  const auto bytes = reference::bytes_of(DType::f32, near);
  for (const double budget : {all_the_time, no_time}) {
    CHECK(judge_problem(problem, data, bytes, budget).wrong);
    CHECK_FALSE(judge_problem(problem, data, bytes, budget, Transforms::allowed).wrong);
    auto missing = near;
    missing.at[500] += 1;
    const Judgement judged = judge_problem(problem, data, reference::bytes_of(DType::f32, missing),
                                           budget, Transforms::allowed);
    REQUIRE(judged.wrong);
    CHECK(judged.wrong->first_index == 500);
    missing.at[500] = std::nan("");
    CHECK(judge_problem(problem, data, reference::bytes_of(DType::f32, missing), budget,
                        Transforms::allowed)
              .wrong);
  }
}

TEST_CASE("judge of convolutions: Winograd transforms of f32 are right, factors of TF32 are not") {
  for (const char* shape : {"n1c16h34w34:k8r3s3", "n1c64h34w34:k8r3s3", "n1c256h34w34:k8r3s3"}) {
    CAPTURE(shape);
    const ConvProblem problem = conv_of(shape, DType::f32);
    const ProblemData data = make_data(problem, DataKind::random, 3);
    const auto values = [](const std::vector<std::byte>& bytes, std::vector<std::uint64_t> dims) {
      return reference::values_of(DType::f32, bytes, dims);
    };
    const auto images = values(data.b, {problem.n, problem.c, problem.h, problem.w});
    const auto weights = values(data.a, {problem.k, problem.c, 3, 3});
    const auto by_winograd =
        reference::bytes_of(DType::f32, Winograd(problem, images, weights).run());
    CHECK(judge_problem(problem, data, by_winograd, all_the_time).wrong);
    const Judgement judged =
        judge_problem(problem, data, by_winograd, all_the_time, Transforms::allowed);
    CHECK_FALSE(judged.wrong);
    CHECK(judged.max_error > 0.1);
    CHECK(judged.max_error < 0.5);

    ProblemData rounded = data;
    rounded.a = in_tf32(data.a);
    rounded.b = in_tf32(data.b);
    const auto by_tf32 = right_result(problem, rounded);
    CHECK(judge_problem(problem, data, by_tf32, all_the_time, Transforms::allowed).wrong);
  }
}

TEST_CASE("judge of convolutions: sums in f16 are outside of the bound") {
  const ConvProblem problem = conv_of("n1c1h48w50:k1r23s23", DType::f16);  // of the traps
  const ProblemData data = make_data(problem, DataKind::random, 1);
  const auto right = right_values(problem, data);
  auto wrong = right;
  for (long double& value : wrong.at) value *= 1 + 0x1p-8L;  // a few units
  CHECK_FALSE(
      judge_problem(problem, data, reference::bytes_of(DType::f16, right), all_the_time).wrong);
  CHECK(judge_problem(problem, data, reference::bytes_of(DType::f16, wrong), all_the_time).wrong);
}

TEST_CASE("judge of convolutions: whole numbers become smaller where the bound would be wide") {
  CHECK(make_data(conv_of("n1c1h4w4:k1r3s3", DType::f32), DataKind::whole, 1).most == 8);
  CHECK(make_data(conv_of("n1c4096h3w3:k1r3s3", DType::f32), DataKind::whole, 1).most < 8);
}
