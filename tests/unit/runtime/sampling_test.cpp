// SPDX-License-Identifier: MIT
#include "hiptool/sampling.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops_move.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> sample_logits(std::uint32_t count) {
  std::vector<float> logits;
  for (std::uint32_t i = 0; i < count; ++i) {
    logits.push_back(static_cast<float>((i * 7919 + 13) % 1000) / 128.0F);
  }
  return logits;
}

/// Probabilities by the definition, in another order and precision than the product's: all are
/// sorted, the shares are those of the softmax after the temperature.
std::map<std::uint32_t, long double> expected_shares(const std::vector<float>& logits,
                                                     const SamplingOptions& options) {
  std::vector<std::pair<long double, std::uint32_t>> order;
  for (std::uint32_t id = 0; id < logits.size(); ++id) order.emplace_back(-logits[id], id);
  std::sort(order.begin(), order.end());
  if (options.top_k > 0 && options.top_k < order.size()) order.resize(options.top_k);
  std::vector<long double> shares;
  for (const auto& entry : order) {
    shares.push_back(std::exp((order.front().first - entry.first) / options.temperature));
  }
  const long double all = std::accumulate(shares.rbegin(), shares.rend(), 0.0L);
  std::map<std::uint32_t, long double> kept;
  long double together = 0;
  for (std::size_t i = 0; i < order.size() && together < options.top_p * all; ++i) {
    kept[order[i].second] = shares[i];
    together += shares[i];
  }
  for (auto& entry : kept) entry.second /= together;
  return kept;
}

/// The chi-square that is exceeded with about this many deviations of a normal distribution
/// (Wilson and Hilferty, The distribution of chi-square, 1931).
double chi_square_at(double deviations, double freedom) {
  const double part = 2 / (9 * freedom);
  return freedom * std::pow(1 - part + deviations * std::sqrt(part), 3);
}

}  // namespace

TEST_CASE("sampling: a hundred thousand draws are distributed as the probabilities say") {
  const std::vector<float> logits = sample_logits(60);
  constexpr std::uint64_t draws = 100'000;
  const auto check = [&](const SamplingOptions& options, std::size_t least_kept,
                         std::size_t most_kept) {
    CAPTURE(options.temperature);
    CAPTURE(options.top_k);
    CAPTURE(options.top_p);
    const auto shares = expected_shares(logits, options);
    CHECK(shares.size() >= least_kept);
    CHECK(shares.size() <= most_kept);
    std::map<std::uint32_t, std::uint64_t> found;
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
      ++found[sample_token(logits, options, draw)];
    }
    double sum = 0;
    double rest_expected = 0;
    double rest_found = 0;
    double cells = 0;
    for (const auto& entry : shares) {
      const double expected = static_cast<double>(entry.second) * draws;
      const auto times = static_cast<double>(found[entry.first]);
      // Few draws are not distributed as the test supposes.
      if (expected < 10) {
        rest_expected += expected;
        rest_found += times;
        continue;
      }
      sum += (times - expected) * (times - expected) / expected;
      ++cells;
    }
    if (rest_expected >= 10) {
      sum += (rest_found - rest_expected) * (rest_found - rest_expected) / rest_expected;
      ++cells;
    }
    CHECK(sum < chi_square_at(4, cells - 1));
    CHECK(sum > chi_square_at(-4, cells - 1));
    for (const auto& entry : found) {
      if (entry.second > 0) CHECK(shares.count(entry.first) == 1);
    }
  };
  check({1, 0, 1, 1}, 60, 60);
  check({1.5, 20, 1, 3}, 20, 20);
  check({2, 0, 0.8, 4}, 10, 40);
  check({0.7, 30, 0.9, 5}, 5, 25);
}

TEST_CASE("sampling: ids are those that another program draws") {
  const std::vector<float> logits = sample_logits(1000);
  constexpr std::uint64_t far = std::uint64_t{1} << 32;
  const std::vector<std::uint64_t> draws{0, 1, 2, 3, 1000, far, far + 1, std::uint64_t{1} << 63};
  // By Python's float, math.fsum and integers, from the definition in sampling.hpp.
  const std::vector<std::pair<SamplingOptions, std::vector<std::uint32_t>>> cases{
      {{1, 0, 1, 1}, {879, 668, 248, 754, 174, 507, 965, 199}},
      {{0.7, 40, 1, 1'099'511'627'783}, {161, 371, 309, 494, 50, 124, 99, 99}},
      {{1.3, 0, 0.9, 3}, {807, 264, 766, 136, 459, 420, 755, 942}},
      {{0.8, 100, 0.95, 9'223'372'036'854'775'813U}, {964, 383, 396, 779, 346, 556, 433, 951}}};
  for (const auto& entry : cases) {
    CAPTURE(entry.first.seed);
    std::vector<std::uint32_t> ids;
    for (const std::uint64_t draw : draws) ids.push_back(sample_token(logits, entry.first, draw));
    CHECK(ids == entry.second);
  }
}

TEST_CASE("sampling: random numbers are the published ones, and those of ops::rand_uniform") {
  // Of 2^16 equal logits the chosen id is the upper 16 bits.
  const std::vector<float> equal(std::size_t{1} << 16, 3.5F);
  // Random123's kat_vectors: philox4x32-10 of zeros begins with 6627e8d5.
  CHECK(sample_token(equal, {1, 0, 1, 0}, 0) == 0x6627e8d5 >> 16);
  Platforms platforms;
  const Backend backend(device(platforms));
  for (const std::uint64_t seed : {std::uint64_t{42}, ~std::uint64_t{0}}) {
    const std::vector<double> numbers =
        ops::rand_uniform(backend, DType::f64, {12}, seed, 0, 1).to_host<double>(backend.stream());
    for (std::uint64_t draw = 0; draw < 6; ++draw) {
      CHECK(sample_token(equal, {1, 0, 1, seed}, draw) ==
            static_cast<std::uint32_t>(numbers[2 * draw] * 0x1p16));
    }
  }
}

TEST_CASE("sampling: of equal logits the lowest ids come first") {
  const std::vector<float> logits{1, 5, 2, 5, 5, -infinity, 5, 0};
  CHECK(sample_token(logits, {}, 7) == 1);
  const auto drawn = [&](const SamplingOptions& options) {
    std::vector<std::uint32_t> ids;
    for (std::uint64_t draw = 0; draw < 400; ++draw) {
      ids.push_back(sample_token(logits, options, draw));
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  };
  using Ids = std::vector<std::uint32_t>;
  CHECK(drawn({1, 1, 1, 0}) == Ids{1});
  CHECK(drawn({1, 3, 1, 0}) == Ids{1, 3, 4});
  CHECK(drawn({1, 0, 0.3, 0}) == Ids{1, 3});
  CHECK(drawn({1, 0, 1e-9, 0}) == Ids{1});
  CHECK(drawn({1e-3, 0, 1, 0}) == Ids{1, 3, 4, 6});
  CHECK(drawn({1e300, 0, 1, 0}) == Ids{0, 1, 2, 3, 4, 6, 7});
  CHECK(drawn({1e-300, 2, 0.999, 0}) == Ids{1, 3});
  CHECK(drawn({1, 1'000'000, 1, 0}) == drawn({1, 0, 1, 0}));
  CHECK(sample_token(std::vector<float>{-3}, {1, 0, 1, 0}, 0) == 0);
  CHECK(sample_token(std::vector<float>{-infinity, -1e38F}, {0.1, 0, 0.5, 0}, 0) == 1);
}

TEST_CASE("sampling: logits that are no numbers are refused by the token's id") {
  const auto refusal = [](const std::vector<float>& logits, double temperature) {
    try {
      static_cast<void>(sample_token(logits, {temperature, 0, 1, 0}, 0));
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::corrupt_data);
      return std::string(error.what());
    }
    return std::string();
  };
  for (const double temperature : {0.0, 1.0}) {
    std::vector<float> logits(10, 1.0F);
    logits[7] = std::numeric_limits<float>::quiet_NaN();
    CHECK(refusal(logits, temperature) == "the logit of token 7 is NaN");
    logits[7] = -logits[7];
    CHECK(refusal(logits, temperature) == "the logit of token 7 is NaN");
    logits[3] = infinity;
    CHECK(refusal(logits, temperature) == "the logit of token 3 is infinite");
    CHECK(refusal({-infinity, -infinity}, temperature) == "the logits of all tokens are -infinity");
    logits.front() = std::numeric_limits<float>::quiet_NaN();
    CHECK(refusal(logits, temperature) == "the logit of token 0 is NaN");
  }
}

TEST_CASE("sampling: options out of range are refused") {
  const auto refused = [](const SamplingOptions& options) {
    const std::vector<float> logits{1, 2};
    CHECK((code_of([&] { require_valid(options); }) ==
           code_of([&] { static_cast<void>(sample_token(logits, options, 0)); })));
    return code_of([&] { require_valid(options); }) == ErrorCode::invalid_argument;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(refused({-0.1, 0, 1, 0}));
  CHECK(refused({nan, 0, 1, 0}));
  CHECK(refused({infinity, 0, 1, 0}));
  CHECK(refused({1, 0, 0, 0}));
  CHECK(refused({1, 0, 1.001, 0}));
  CHECK(refused({1, 0, nan, 0}));
  CHECK_FALSE(refused({}));
  CHECK_FALSE(refused({1, 5, 1e-300, ~std::uint64_t{0}}));
  CHECK(code_of([] { static_cast<void>(sample_token({}, {}, 0)); }) == ErrorCode::invalid_argument);
}
