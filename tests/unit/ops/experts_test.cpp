// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops_experts.hpp"
#include "hiptool/ops_model.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::ExpertTensors;
using ops::QuantisedTensor;

namespace {

template <class T>
Tensor on_device(const Backend& backend, const std::vector<T>& values,
                 std::initializer_list<std::uint64_t> dims) {
  return Tensor::from_host({backend.allocator(), backend.stream()}, values, dims);
}

template <class T>
std::vector<T> read_back(const Backend& backend, const Tensor& tensor) {
  return tensor.to_host<T>(backend.stream());
}

bool has_same_bits(const std::vector<float>& left, const std::vector<float>& right) {
  return left.size() == right.size() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

/// Experts of one token by sorting, and the softmax of their scores in double.
struct SortedRouting {
  std::vector<std::uint32_t> ids;
  std::vector<double> weights;

  SortedRouting(std::span<const float> scores, std::size_t used, bool is_normalised) {
    std::vector<std::uint32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(
        order, [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
    ids.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(used));
    double sum = 0;
    const std::size_t terms = is_normalised ? used : scores.size();
    for (std::size_t i = 0; i < terms; ++i) sum += std::exp(double{scores[order[i]]});
    for (const std::uint32_t id : ids) weights.push_back(std::exp(double{scores[id]}) / sum);
  }
};

}  // namespace

TEST_CASE("experts: those with the highest scores, and their weights") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const auto& [tokens, experts, used] :
       std::vector<std::array<std::size_t, 3>>{{1, 1, 1}, {5, 7, 3}, {3, 128, 8}, {2, 1000, 37}}) {
    const std::size_t all_experts = experts;
    CAPTURE(all_experts);
    std::vector<float> scores = test::random_floats(tokens * experts, 5);
    if (experts > 2) scores[1] = scores[2] = scores[0];  // equal: the lower number first
    const Tensor table = on_device(backend, scores, {tokens, experts});
    for (const bool is_normalised : {true, false}) {
      const ops::ExpertRouting found = ops::route_experts(backend, table, used, is_normalised);
      const auto ids = read_back<std::uint32_t>(backend, found.ids);
      const auto weights = read_back<float>(backend, found.weights);
      for (std::size_t token = 0; token < tokens; ++token) {
        const SortedRouting expected(
            std::span<const float>(scores).subspan(token * experts, experts), used, is_normalised);
        for (std::size_t i = 0; i < used; ++i) {
          CHECK(ids[token * used + i] == expected.ids[i]);
          const double difference = std::abs(weights[token * used + i] - expected.weights[i]);
          const double terms = static_cast<double>(is_normalised ? used : experts);
          CHECK(difference <= expected.weights[i] * (2 * 8 + terms + 16) * 0x1p-24);
        }
      }
    }
  }
}

TEST_CASE("experts: scores that are no numbers, and zeros of both signs") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor scores =
      on_device<float>(backend, {-0.0F, 0, -1, 3, nan, 2, -infinity, 1, -2}, {3, 3});
  const ops::ExpertRouting found = ops::route_experts(backend, scores, 2, true);
  CHECK(read_back<std::uint32_t>(backend, found.ids) ==
        std::vector<std::uint32_t>{0, 1, 1, 0, 1, 2});
  const auto weights = read_back<float>(backend, found.weights);
  CHECK(weights[0] == 0.5F);
  CHECK(std::isnan(weights[2]));
  CHECK(std::isnan(weights[3]));
  CHECK(weights[4] + weights[5] == doctest::Approx(1));
}

TEST_CASE("experts: products have the bits of quantised_matmul, wherever matrices are") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::uint64_t experts = 5, rows = 11, columns = 163, tokens = 3, used = 2;
  const std::vector<float> numbers = test::random_floats(experts * rows * columns, 7);
  const std::vector<float> bias = test::random_floats(experts * 2 * rows, 8);
  const std::vector<std::uint32_t> ids{4, 0, 2, 4, 1, 1};
  const Tensor chosen = on_device(backend, ids, {tokens, used});
  const Tensor all = on_device(backend, numbers, {experts * rows, columns});
  std::vector<QuantisedTensor> apart;
  for (std::size_t expert = 0; expert < experts; ++expert) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(expert * rows * columns);
    const std::vector<float> own(begin, begin + rows * columns);
    apart.emplace_back(on_device(backend, own, {rows, columns}));
  }
  const ExpertTensors stacked(backend, {QuantisedTensor(all)}, experts);
  const ExpertTensors single(backend, apart, experts);
  const ops::ExpertBias added{on_device(backend, bias, {experts, 2 * rows}), 1, 2};
  for (const std::uint64_t inputs : {tokens, tokens * used}) {
    const std::vector<float> vectors = test::random_floats(inputs * columns, 9);
    const Tensor x = on_device(backend, vectors, {inputs, columns});
    const auto found = read_back<float>(backend, ops::expert_matmul(backend, stacked, chosen, x));
    CHECK(has_same_bits(found,
                        read_back<float>(backend, ops::expert_matmul(backend, single, chosen, x))));
    const auto with_bias =
        read_back<float>(backend, ops::expert_matmul(backend, stacked, chosen, x, &added));
    for (std::size_t slot = 0; slot < ids.size(); ++slot) {
      const std::uint64_t input = slot / (tokens * used / inputs);
      const Tensor vector = x.with_layout(x.layout().narrow(0, input, 1));
      const auto expected =
          read_back<float>(backend, ops::quantised_matmul(backend, apart[ids[slot]], vector));
      const auto begin = found.begin() + static_cast<std::ptrdiff_t>(slot * rows);
      CHECK(has_same_bits({begin, begin + rows}, expected));
      for (std::size_t row = 0; row < rows; ++row) {
        CHECK(with_bias[slot * rows + row] ==
              expected[row] + bias[ids[slot] * 2 * rows + 2 * row + 1]);
      }
    }
  }
}

TEST_CASE("experts: packed matrices are MXFP4 of both formats") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::uint64_t experts = 3, rows = 5, step = 2, columns = 96, blocks = columns / 32;
  std::mt19937 random(3);
  std::vector<std::uint8_t> codes(experts * step * rows * columns / 2);
  for (std::uint8_t& byte : codes) byte = static_cast<std::uint8_t>(random());
  std::vector<std::uint8_t> exponents(experts * step * rows * blocks);
  for (std::uint8_t& byte : exponents) byte = static_cast<std::uint8_t>(124 + random() % 7);
  exponents[0] = 0;
  exponents[1] = 1;
  constexpr float values[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  const auto number = [&](std::size_t row, std::size_t column) {
    const std::size_t at = row * columns + column;
    const unsigned code = codes[at / 2] >> (at % 2 * 4) & 15U;
    return std::ldexp(code < 8 ? values[code] : -values[code - 8], exponents[at / 32] - 127);
  };
  Buffer on_gpu(backend.device(), codes.size());
  Buffer scales(backend.device(), exponents.size());
  copy_h2d_and_wait(on_gpu, std::as_bytes(std::span(codes)));
  copy_h2d_and_wait(scales, std::as_bytes(std::span(exponents)));
  const Tensor ids = on_device<std::uint32_t>(backend, {0, 2, 1}, {3, 1});
  const Tensor x = on_device(backend, test::random_floats(3 * columns, 4), {3, columns});
  for (std::uint64_t first = 0; first < step; ++first) {
    const ExpertTensors packed(backend, {on_gpu, scales, experts, rows, columns, first, step});
    std::vector<float> plain;
    for (std::size_t row = 0; row < experts * rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        plain.push_back(number(row * step + first, column));
      }
    }
    const ExpertTensors numbers(
        backend, {QuantisedTensor(on_device(backend, plain, {experts * rows, columns}))}, experts);
    CHECK(has_same_bits(read_back<float>(backend, ops::expert_matmul(backend, packed, ids, x)),
                        read_back<float>(backend, ops::expert_matmul(backend, numbers, ids, x))));
  }
  CHECK(test::code_of([&] {
          const ExpertTensors made(backend, {on_gpu, scales, experts, rows + 1, columns, 0, step});
        }) == ErrorCode::out_of_bounds);
  CHECK(test::code_of([&] {
          const ExpertTensors made(backend, {on_gpu, scales, experts, rows, columns - 1, 0, step});
        }) == ErrorCode::invalid_argument);
}

TEST_CASE("experts: sums by weights, and the clamped gate") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::uint64_t tokens = 3, used = 4, columns = 37;
  const std::vector<float> slots = test::random_floats(tokens * used * columns, 1);
  const std::vector<float> weights = test::random_floats(tokens * used, 2);
  const auto found = read_back<float>(
      backend, ops::add_experts(backend, on_device(backend, slots, {tokens * used, columns}),
                                on_device(backend, weights, {tokens, used})));
  for (std::size_t at = 0; at < found.size(); ++at) {
    float sum = 0;
    for (std::size_t i = 0; i < used; ++i) {
      const std::size_t slot = at / columns * used + i;
      sum = std::fma(weights[slot], slots[slot * columns + at % columns], sum);
    }
    CHECK(found[at] == sum);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> gates = test::random_floats(60, 3);
  std::vector<float> up = test::random_floats(60, 4);
  gates[0] = up[1] = nan;
  gates[2] = 9;
  up[3] = -9;
  const auto gated =
      read_back<float>(backend, ops::clamped_gate(backend, on_device(backend, gates, {4, 15}),
                                                  on_device(backend, up, {4, 15}), 1.5, 1.702));
  CHECK(std::isnan(gated[0]));
  CHECK(std::isnan(gated[1]));
  for (std::size_t i = 2; i < gated.size(); ++i) {
    const double g = std::min(double{gates[i]}, 1.5);
    const double u = std::clamp(double{up[i]}, -1.5, 1.5);
    const double expected = g / (1 + std::exp(-1.702 * g)) * (u + 1);
    CHECK(std::abs(gated[i] - expected) <= 16 * 0x1p-24 * std::abs(expected) + 1e-37);
  }
}

TEST_CASE("experts: what does not fit is refused") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto refused = [](const std::function<void()>& work) {
    return test::code_of(work) == ErrorCode::invalid_argument;
  };
  const QuantisedTensor matrix(on_device(backend, test::random_floats(6 * 4, 1), {6, 4}));
  CHECK(refused([&] { const ExpertTensors made(backend, {matrix}, 0); }));
  CHECK(refused([&] { const ExpertTensors made(backend, {matrix}, 4); }));
  CHECK(refused([&] { const ExpertTensors made(backend, {matrix, matrix}, 3); }));
  CHECK(refused([&] { const ExpertTensors made(backend, {}, 1); }));
  const ExpertTensors experts(backend, {matrix}, 3);
  const Tensor ids = on_device<std::uint32_t>(backend, {0, 2}, {1, 2});
  const Tensor x = on_device(backend, test::random_floats(4, 1), {1, 4});
  const Tensor wide = on_device(backend, test::random_floats(5, 1), {1, 5});
  CHECK(refused([&] { (void)ops::expert_matmul(backend, experts, ids, wide); }));
  CHECK(refused([&] { (void)ops::expert_matmul(backend, experts, x, x); }));
  const ops::ExpertBias bias{on_device(backend, test::random_floats(5, 1), {1, 5})};
  CHECK(refused([&] { (void)ops::expert_matmul(backend, experts, ids, x, &bias); }));
  CHECK(refused([&] { (void)ops::route_experts(backend, x, 5, true); }));
  CHECK(refused([&] { (void)ops::route_experts(backend, x, 0, true); }));
  CHECK(refused([&] { (void)ops::add_experts(backend, wide, x); }));
  CHECK(refused([&] { (void)ops::clamped_gate(backend, x, wide, 7, 1); }));
  CHECK(refused([&] { (void)ops::clamped_gate(backend, x, x, 0, 1); }));
}
