// SPDX-License-Identifier: MIT
#include "ops/shares.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;

namespace {

struct Routed {
  std::vector<std::uint32_t> ids;
  std::vector<float> weights;
};

Routed routed(const Backend& backend, const std::vector<float>& scores, std::size_t tokens,
              const ExpertsSpec& experts, const std::vector<float>& bias) {
  const auto count = scores.size() / tokens;
  const auto to_device = [&](const std::vector<float>& values,
                             std::initializer_list<std::uint64_t> dims) {
    return Tensor::from_host({backend.allocator(), backend.stream()}, values, dims);
  };
  ops::ExpertRouting out{backend.empty(DType::u32, {tokens, experts.used}),
                         backend.empty(DType::f32, {tokens, experts.used})};
  std::optional<Tensor> added;
  if (!bias.empty()) added = to_device(bias, {count});
  ops::route_shares_into(backend, out, to_device(scores, {tokens, count}), added, experts);
  return {out.ids.to_host<std::uint32_t>(backend.stream()),
          out.weights.to_host<float>(backend.stream())};
}

/// One token by sorting pairs, in double.
std::pair<std::vector<std::uint32_t>, std::vector<double>> sorted_by_shares(
    std::span<const float> scores, const ExpertsSpec& experts, const std::vector<float>& bias) {
  std::vector<double> shares;
  double all = 0;
  for (const float score : scores) all += std::exp(double{score});
  for (const float score : scores) {
    const bool is_sigmoid = experts.share == ExpertShare::sigmoid;
    shares.push_back(is_sigmoid ? 1 / (1 + std::exp(-double{score}))
                                : std::exp(double{score}) / all);
  }
  const auto choice = [&](std::size_t i) { return shares[i] + (bias.empty() ? 0 : bias[i]); };
  const std::size_t size = scores.size() / static_cast<std::size_t>(experts.groups);
  std::vector<std::pair<double, std::size_t>> groups;
  for (std::size_t group = 0; group < experts.groups; ++group) {
    std::vector<double> own;
    for (std::size_t i = 0; i < size; ++i) own.push_back(choice(group * size + i));
    std::sort(own.rbegin(), own.rend());
    groups.emplace_back(-(experts.group_best == 2 ? own[0] + own[1] : own[0]), group);
  }
  std::sort(groups.begin(), groups.end());
  std::vector<std::pair<double, std::uint32_t>> open;
  for (std::size_t place = 0; place < experts.groups_used; ++place) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t expert = groups[place].second * size + i;
      open.emplace_back(-choice(expert), static_cast<std::uint32_t>(expert));
    }
  }
  std::sort(open.begin(), open.end());
  std::pair<std::vector<std::uint32_t>, std::vector<double>> result;
  double sum = 1e-20;
  for (std::size_t place = 0; place < experts.used; ++place) {
    result.first.push_back(open[place].second);
    sum += shares[open[place].second];
  }
  for (const std::uint32_t id : result.first) {
    result.second.push_back(shares[id] / (experts.is_normalised ? sum : 1) * experts.scale);
  }
  return result;
}

ExpertsSpec experts_of(std::uint64_t used, std::uint64_t groups, std::uint64_t groups_used,
                       std::uint64_t best, ExpertShare share, bool is_normalised) {
  ExpertsSpec experts;
  experts.used = used;
  experts.groups = groups;
  experts.groups_used = groups_used;
  experts.group_best = best;
  experts.share = share;
  experts.is_normalised = is_normalised;
  experts.scale = 2.5;
  return experts;
}

}  // namespace

TEST_CASE("shares: experts of the best groups, and their weights") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  using Case = std::pair<std::size_t, ExpertsSpec>;
  for (const auto& [count, experts] :
       {Case{1, experts_of(1, 1, 1, 1, ExpertShare::sigmoid, true)},
        Case{7, experts_of(3, 1, 1, 1, ExpertShare::softmax, false)},
        Case{12, experts_of(3, 4, 2, 2, ExpertShare::sigmoid, true)},
        Case{12, experts_of(3, 4, 1, 1, ExpertShare::softmax, true)},
        Case{12, experts_of(4, 6, 2, 2, ExpertShare::softmax, false)},
        Case{256, experts_of(8, 8, 4, 2, ExpertShare::sigmoid, true)},
        Case{1000, experts_of(37, 10, 3, 2, ExpertShare::sigmoid, false)}}) {
    const std::size_t all = count;
    CAPTURE(all);
    constexpr std::size_t tokens = 7;
    const std::vector<float> scores = test::random_floats(tokens * count, 5);
    for (const bool has_bias : {false, true}) {
      std::vector<float> bias;
      if (has_bias) bias = test::random_floats(count, 6);
      const Routed found = routed(backend, scores, tokens, experts, bias);
      const auto used = static_cast<std::size_t>(experts.used);
      for (std::size_t token = 0; token < tokens; ++token) {
        const auto [ids, weights] = sorted_by_shares(
            std::span<const float>(scores).subspan(token * count, count), experts, bias);
        for (std::size_t i = 0; i < used; ++i) {
          CHECK(found.ids[token * used + i] == ids[i]);
          const double units = 2 * 8 + static_cast<double>(count) + 24;
          CHECK(std::abs(found.weights[token * used + i] - weights[i]) <=
                weights[i] * units * 0x1p-24);
        }
        // A token alone has the same bits.
        const Routed one =
            routed(backend,
                   {scores.begin() + static_cast<std::ptrdiff_t>(token * count),
                    scores.begin() + static_cast<std::ptrdiff_t>((token + 1) * count)},
                   1, experts, bias);
        CHECK(std::equal(one.ids.begin(), one.ids.end(), &found.ids[token * used]));
        CHECK(std::memcmp(one.weights.data(), &found.weights[token * used], used * sizeof(float)) ==
              0);
      }
    }
  }
}

TEST_CASE("shares: equal ones, and scores that are no numbers") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const ExpertsSpec experts = experts_of(2, 3, 2, 2, ExpertShare::sigmoid, true);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // Of equal groups the first two; a group with NaN is the best.
  const Routed found = routed(backend, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, nan, 0}, 2, experts, {});
  CHECK(found.ids == std::vector<std::uint32_t>{0, 1, 4, 0});
  CHECK(found.weights[0] == 1.25F);
  CHECK(found.weights[1] == 1.25F);
  CHECK(std::isnan(found.weights[2]));
}

TEST_CASE("shares: numbers that do not fit each other") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<float> scores(12);
  for (const ExpertsSpec& experts :
       {experts_of(3, 5, 2, 2, ExpertShare::sigmoid, true),   // 12 experts are not 5 groups
        experts_of(3, 4, 5, 2, ExpertShare::sigmoid, true),   // more groups than there are
        experts_of(7, 4, 2, 2, ExpertShare::sigmoid, true),   // more experts than 2 groups have
        experts_of(1, 12, 2, 2, ExpertShare::sigmoid, true),  // the best two of one
        experts_of(3, 4, 2, 3, ExpertShare::sigmoid, true)}) {
    CHECK_THROWS_AS(routed(backend, scores, 1, experts, {}), Error);
  }
  const ExpertsSpec right = experts_of(3, 4, 2, 2, ExpertShare::sigmoid, true);
  CHECK_THROWS_AS(routed(backend, std::vector<float>(24), 2, right, std::vector<float>(11)), Error);
  CHECK(routed(backend, scores, 1, right, std::vector<float>(12)).ids.size() == 3);
}
