// SPDX-License-Identifier: MIT
#include "measure/library/pool_judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "measure/library/operands.hpp"
#include "reference/ops/pool.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

/// What was found in one channel of one image.
struct FoundPlane {
  std::vector<std::uint64_t> wrong;  ///< pixels
  double max_error = 0;
  double expected = 0;  ///< of the first wrong one
  std::uint64_t xor_bits = 0;
};

Expected expected_of(const PoolProblem& problem, const ProblemData& data, std::uint64_t plane) {
  const std::uint64_t pixels = problem.h * problem.w;
  Values image{{1, 1, problem.h, problem.w}, {}};
  for (std::uint64_t i = 0; i < pixels; ++i) {
    image.at.push_back(number_at(problem.dtype, data.b.data(), plane * pixels + i));
  }
  if (!problem.is_average) return reference::max_pool2d(image, problem.window, problem.stride);
  Expected expected = reference::avg_pool2d(problem.dtype, image, problem.window, problem.stride);
  reference::allow_reciprocal(problem.dtype, problem.terms(), expected);
  return expected;
}

FoundPlane judge_plane(const PoolProblem& problem, const ProblemData& data,
                       std::span<const std::byte> result, std::uint64_t plane) {
  const Expected expected = expected_of(problem, data, plane);
  const std::vector<std::byte> rounded = reference::bytes_of(problem.result, expected.values);
  const std::uint64_t pixels = expected.values.at.size();
  FoundPlane found;
  for (std::uint64_t i = 0; i < pixels; ++i) {
    const long double slack = expected.slack.empty() ? 0 : expected.slack[i];
    const long double value =
        slack > 0 ? expected.values.at[i] : number_at(problem.result, rounded.data(), i);
    const std::uint64_t place = plane * pixels + i;
    const long double got = number_at(problem.result, result.data(), place);
    const long double error = std::fabs(got - value);
    const bool is_right = error <= slack;  // false for NaN
    const double share = slack > 0 && std::isfinite(got) ? static_cast<double>(error / slack)
                         : is_right                      ? 0
                                                         : std::numeric_limits<double>::infinity();
    found.max_error = std::max(found.max_error, share);
    if (is_right) continue;
    if (found.wrong.empty()) found.expected = static_cast<double>(value);
    found.wrong.push_back(i);
    found.xor_bits |=
        bits_at(problem.result, result.data(), place) ^ bits_at(problem.result, rounded.data(), i);
  }
  return found;
}

}  // namespace

Judgement judge_pooling(const PoolProblem& problem, const ProblemData& data,
                        std::span<const std::byte> result) {
  const std::uint64_t planes = problem.n * problem.c;
  const std::uint64_t pixels = problem.out_height() * problem.out_width();
  std::vector<FoundPlane> found(planes);
  for_each_in_threads(planes,
                      [&](std::uint64_t i) { found[i] = judge_plane(problem, data, result, i); });
  Judgement judgement;
  judgement.checked = planes * pixels;
  std::vector<bool> wrong_planes(planes);
  std::vector<bool> wrong_pixels(pixels);
  std::uint64_t count = 0;
  for (std::uint64_t plane = 0; plane < planes; ++plane) {
    judgement.max_error = std::max(judgement.max_error, found[plane].max_error);
    if (found[plane].wrong.empty()) continue;
    wrong_planes[plane] = true;
    for (const std::uint64_t pixel : found[plane].wrong) wrong_pixels[pixel] = true;
    count += found[plane].wrong.size();
    if (judgement.wrong) continue;
    const std::uint64_t first = plane * pixels + found[plane].wrong.front();
    judgement.wrong = report::WrongData{};
    judgement.wrong->first_index = first;
    judgement.wrong->expected = found[plane].expected;
    judgement.wrong->got = number_at(problem.result, result.data(), first);
  }
  if (!judgement.wrong) return judgement;
  judgement.wrong->count = count;
  for (const FoundPlane& one : found) judgement.wrong->xor_bits |= one.xor_bits;
  judgement.where =
      describe_places(wrong_planes, wrong_pixels, count, planes * pixels, {"channel", "pixel"});
  return judgement;
}

}  // namespace hiptool::measure
