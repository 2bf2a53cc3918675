// SPDX-License-Identifier: MIT
#include "user_kernel/comparison.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace hiptool::user_kernel;

namespace {

std::vector<std::byte> bytes_of_floats(const std::vector<float>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

std::uint64_t wrong_count(const std::vector<float>& got, const std::vector<float>& expected,
                          const Tolerance& tolerance) {
  const auto found =
      compare_buffer(ElementType::f32, bytes_of_floats(got), bytes_of_floats(expected), tolerance);
  return found.wrong ? found.wrong->count : 0;
}

}  // namespace

TEST_CASE("a relative and an absolute tolerance are of each element") {
  const std::vector<float> expected{1000, 1, 0.001f, 0, -1000};
  const std::vector<float> got{1000.5f, 1.01f, 0.0011f, 0.0001f, -999.5f};
  CHECK(wrong_count(got, expected, {1e-3, 0}) == 3);     // 1, 0.001 and 0
  CHECK(wrong_count(got, expected, {0, 2e-4}) == 3);     // 1000, 1 and -1000
  CHECK(wrong_count(got, expected, {1e-3, 2e-4}) == 1);  // 1
  CHECK(wrong_count(got, expected, {2e-2, 2e-4}) == 0);
  CHECK(wrong_count(got, expected, Tolerance(1e-3)) == 1);  // of the larger of 1 and the value
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(wrong_count({nan, inf, 1}, {nan, inf, nan}, {1, 1e30}) == 1);
}

TEST_CASE("zeros in place of values never pass, whatever the tolerance") {
  // A softmax over 393216 elements: each is about 2.5e-6.
  const std::vector<float> softmax(4096, 1.0f / 393216);
  const std::vector<float> zeros(4096, 0.0f);
  CHECK(wrong_count(zeros, softmax, {0, 1e-4}) == 4096);
  CHECK(wrong_count(zeros, softmax, Tolerance(1e-4)) == 4096);
  CHECK(wrong_count(zeros, softmax, {0, 1e30}) == 4096);
  std::vector<float> half = softmax;
  std::fill(half.begin() + 2048, half.end(), -0.0f);
  CHECK(wrong_count(half, softmax, {0, 1e-4}) == 2048);
  const auto found = compare_buffer(ElementType::f32, bytes_of_floats(half),
                                    bytes_of_floats(softmax), Tolerance(0, 1e-4));
  CHECK(found.refused_zeros == 2048);
  CHECK(found.wrong->first_index == 2048);
  // The squares of such numbers leave the range of f64, too.
  CHECK(wrong_count({0, 0}, {1e-38f, 3e-38f}, {0, 1}) == 2);
  CHECK(wrong_count({0, 1}, {std::numeric_limits<float>::infinity(), 1}, {0, 1}) == 1);
}

TEST_CASE("a zero for what vanishes beside the other values is within the tolerance") {
  CHECK(wrong_count({1, -2, 0, 3}, {1, -2, 1e-7f, 3}, {0, 1e-6}) == 0);
  CHECK(wrong_count({1, -2, 0, 3}, {1, -2, 1e-2f, 3}, {0, 0.1}) == 1);
  CHECK(wrong_count({0, 0, 0}, {0, 0, 0}, {0, 0}) == 0);
  CHECK(wrong_count({0, -0.0f}, {-0.0f, 0}, {0, 1e-6}) == 0);
  CHECK(wrong_count({1e-7f, 0}, {0, 0}, {0, 1e-6}) == 0);
}
