// SPDX-License-Identifier: MIT
/// Tokens chosen on the device, compared with those that the host chooses.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/sampling.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

Tensor logits_on_device(const Backend& backend, const std::vector<float>& logits) {
  const std::array<std::uint64_t, 1> dims{logits.size()};
  return Tensor::from_host<float>({backend.allocator(), backend.stream()}, logits, dims);
}

std::uint32_t id_of(const Backend& backend, const Tensor& id) {
  REQUIRE(id.element_count() == 1);
  return id.to_host<std::uint32_t>(backend.stream())[0];
}

/// Some equal, some of both signs, some -infinity.
std::vector<float> uneven_logits(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> logits(count);
  for (float& logit : logits) {
    logit = static_cast<float>(random() % 4000) / 256.0F - 8;
    if (random() % 5 == 0) logit = 1.25F;
    if (random() % 9 == 0) logit = -std::numeric_limits<float>::infinity();
  }
  logits[count / 2] = 2;
  return logits;
}

}  // namespace

TEST_CASE("token sampler: the ids that the host draws, greedy, by top-k and top-p, and by both") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<SamplingOptions> all{{},
                                         {.temperature = 1, .seed = 3},
                                         {.temperature = 0.7, .top_k = 40, .seed = 4},
                                         {.temperature = 1.3, .top_p = 0.9, .seed = 5},
                                         {.temperature = 0.9, .top_k = 7, .top_p = 0.6, .seed = 6},
                                         {.temperature = 2, .top_k = 1, .seed = 7},
                                         {.temperature = 5, .top_p = 1e-9, .seed = 8},
                                         {.temperature = 1, .top_k = 100'000, .seed = 9}};
  for (const std::size_t count : {1u, 2u, 13u, 331u, 5000u}) {
    const TokenSampler sampler(backend, count);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t draws = count == 331 ? 12 : 3;
      for (std::uint64_t draw = 0; draw < draws; ++draw) {
        CAPTURE(count);
        CAPTURE(i);
        CAPTURE(draw);
        const std::vector<float> logits =
            uneven_logits(count, static_cast<std::uint32_t>(17 * draw + i));
        const Tensor id = sampler.sample(logits_on_device(backend, logits), all[i], draw);
        CHECK(id_of(backend, id) == sample_token(logits, all[i], draw));
      }
    }
  }
}

TEST_CASE("token sampler: of equal logits the lowest ids, zeros of both signs among them") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<float> logits{-1, -0.0F, 0, 0, -0.0F, -3};
  const TokenSampler sampler(backend, logits.size());
  const Tensor on_device = logits_on_device(backend, logits);
  for (const std::uint64_t most : {1u, 2u, 3u}) {
    for (std::uint64_t draw = 0; draw < 6; ++draw) {
      const SamplingOptions options{.temperature = 1, .top_k = most, .seed = 11};
      const std::uint32_t id = id_of(backend, sampler.sample(on_device, options, draw));
      CHECK(id == sample_token(logits, options, draw));
      CHECK(id <= most);
    }
  }
  CHECK(id_of(backend, sampler.sample(on_device, {}, 0)) == 1);
}

TEST_CASE("token sampler: bad logits have the id of no token, bad arguments are refused") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TokenSampler sampler(backend, 4);
  const float infinity = std::numeric_limits<float>::infinity();
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  for (const std::vector<float>& logits : {std::vector<float>{1, std::nanf(""), 2, 3},
                                           {1, infinity, 2, 3},
                                           {-infinity, -infinity, -infinity, -infinity}}) {
    const Tensor on_device = logits_on_device(backend, logits);
    CHECK(id_of(backend, sampler.sample(on_device, {}, 0)) == none);
    const SamplingOptions options{.temperature = 1, .top_k = 2, .top_p = 0.5};
    CHECK(id_of(backend, sampler.sample(on_device, options, 0)) == none);
  }
  backend.synchronize();
  const auto refusal = [&](const Tensor& logits, const SamplingOptions& options) {
    return test::code_of([&] { static_cast<void>(sampler.sample(logits, options, 0)); });
  };
  CHECK(refusal(backend.zeros(DType::f32, {5}), {}) == ErrorCode::invalid_argument);
  CHECK(refusal(backend.zeros(DType::f16, {4}), {}) == ErrorCode::invalid_argument);
  CHECK(refusal(backend.zeros(DType::f32, {1, 4}), {}) == ErrorCode::invalid_argument);
  CHECK(refusal(backend.zeros(DType::f32, {4}), {.temperature = -1}) ==
        ErrorCode::invalid_argument);
  CHECK(refusal(backend.zeros(DType::f32, {4}), {.top_p = 0}) == ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { TokenSampler(backend, 0); }) == ErrorCode::invalid_argument);
  CHECK(test::code_of([&] { TokenSampler(backend, (1u << 20) + 1); }) ==
        ErrorCode::invalid_argument);
}
