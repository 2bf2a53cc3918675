// SPDX-License-Identifier: MIT
#include "reference/ops/random.hpp"

#include <algorithm>
#include <cmath>

#include "hiptool/ops_move.hpp"
#include "unit/ops/check_move.hpp"

using namespace hiptool;
using test::Placement;
using Dims = std::vector<std::uint64_t>;

namespace {

constexpr std::array float_types{DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8e4m3};
constexpr std::uint64_t some_seed = 0x123456789ABCDEF0;

struct Moments {
  double mean;
  double variance;
};

Moments moments_of(const std::vector<float>& numbers) {
  const auto count = static_cast<double>(numbers.size());
  double sum = 0;
  for (const float x : numbers) sum += x;
  double squares = 0;
  for (const float x : numbers) squares += (x - sum / count) * (x - sum / count);
  return {sum / count, squares / count};
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the known answers of Random123") {
  // Random123 1.14, tests/kat_vectors (https://github.com/DEShawResearch/random123).
  using Words = std::array<std::uint32_t, 4>;
  const auto philox = reference::philox4x32;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers start with Philox's known answer for seed 0") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Tensor numbers = ops::rand_uniform(backend, DType::f32, {4}, 0, 0, 1);
  const auto found = numbers.to_host<float>(backend.stream());
  const std::array<std::uint32_t, 4> words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(found[i] == static_cast<float>(words[i] >> 8) / 16777216.0F);
  }
}

TEST_CASE("random numbers are those of the definition, in every layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<Dims> shapes{{}, {0}, {1}, {3}, {1025}, {33, 20}, {3, 1, 5, 8}};
  for (const DType dtype : float_types) {
    CAPTURE(to_string(dtype));
    for (const Dims& dims : shapes) {
      const auto uniform = reference::rand_uniform(dtype, dims, some_seed, -1.3, 2.7);
      const auto normal = reference::rand_normal(dtype, dims, some_seed, 0.4, 1.6);
      for (const Placement placement : test::placements) {
        Tensor out = test::place(backend, dtype, dims, placement);
        ops::rand_uniform_into(backend, out, some_seed, -1.3, 2.7);
        test::check_result(dtype, test::read(backend, out), uniform);
        Tensor second = test::place(backend, dtype, dims, placement);
        ops::rand_normal_into(backend, second, some_seed, 0.4, 1.6);
        test::check_result(dtype, test::read(backend, second), normal);
      }
    }
  }
}

TEST_CASE("an element depends on the seed and on its index alone") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto numbers = [&](std::uint64_t count, std::uint64_t seed) {
    return ops::rand_normal(backend, DType::f32, {count}, seed, 0, 1)
        .to_host<float>(backend.stream());
  };
  const auto many = numbers(1000, 5);
  const auto few = numbers(7, 5);
  CHECK(std::equal(few.begin(), few.end(), many.begin()));
  CHECK(numbers(7, 6) != few);
  CHECK(numbers(7, 5 + (1ull << 32)) != few);
}

TEST_CASE("uniform numbers stay below the upper end, also where they are rounded to it") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const DType dtype : float_types) {
    CAPTURE(to_string(dtype));
    const Dims dims{5000};
    for (const auto& [low, high] :
         {std::pair{-448.0, 448.0}, {1.0, 1.25}, {2.0, 2.0}, {0.0, 1.0}}) {
      Tensor out = test::place(backend, dtype, dims, Placement::packed);
      ops::rand_uniform_into(backend, out, 9, low, high);
      const auto bytes = test::read(backend, out);
      test::check_result(dtype, bytes, reference::rand_uniform(dtype, dims, 9, low, high));
      for (const long double x : reference::values_of(dtype, bytes, dims).at) {
        REQUIRE(x >= low);
        if (low < high) REQUIRE(x < high);
      }
    }
  }
}

TEST_CASE("mean and variance are within 5 standard errors") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::uint64_t count = 100001;
  const Moments uniform = moments_of(
      ops::rand_uniform(backend, DType::f32, {count}, 77, 0, 1).to_host<float>(backend.stream()));
  // Variance 1/12; that of the squared deviation is 1/180.
  CHECK(std::fabs(uniform.mean - 0.5) < 5 * std::sqrt(1.0 / 12 / count));
  CHECK(std::fabs(uniform.variance - 1.0 / 12) < 5 * std::sqrt(1.0 / 180 / count));
  const Moments normal = moments_of(
      ops::rand_normal(backend, DType::f32, {count}, 78, 3, 2).to_host<float>(backend.stream()));
  CHECK(std::fabs(normal.mean - 3) < 5 * std::sqrt(4.0 / count));
  CHECK(std::fabs(normal.variance - 4) < 5 * std::sqrt(2.0 * 16 / count));
}

TEST_CASE("random numbers refuse whole types and ends that are no interval") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto uniform = [&](DType dtype, double low, double high) {
    return test::code_of(
        [&] { static_cast<void>(ops::rand_uniform(backend, dtype, {3}, 0, low, high)); });
  };
  const auto normal = [&](DType dtype, double mean, double deviation) {
    return test::code_of(
        [&] { static_cast<void>(ops::rand_normal(backend, dtype, {3}, 0, mean, deviation)); });
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr ErrorCode bad = ErrorCode::invalid_argument;
  for (const DType dtype : dtypes) {
    if (is_floating_point(dtype)) continue;
    CHECK(uniform(dtype, 0, 1) == ErrorCode::unsupported);
    CHECK(normal(dtype, 0, 1) == ErrorCode::unsupported);
  }
  CHECK(uniform(DType::f32, 1, 0) == bad);
  CHECK(uniform(DType::f32, nan, 0) == bad);
  CHECK(uniform(DType::f32, 0, nan) == bad);
  CHECK(uniform(DType::f64, 0, infinity) == bad);
  CHECK(uniform(DType::f16, 0, 70000) == bad);
  CHECK(uniform(DType::f8e4m3, 0, 500) == bad);
  CHECK(uniform(DType::f32, -3e38, 3e38) == bad);
  CHECK(uniform(DType::f64, -1.5e308, 1.5e308) == bad);
  CHECK(normal(DType::f32, 0, -1) == bad);
  CHECK(normal(DType::f32, nan, 1) == bad);
  CHECK(normal(DType::f32, 0, nan) == bad);
  CHECK(normal(DType::f32, 1e39, 1) == bad);
  CHECK(normal(DType::f64, 1e39, 0) == ErrorCode::internal);
}
