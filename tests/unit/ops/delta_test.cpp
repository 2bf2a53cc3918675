// SPDX-License-Identifier: MIT
#include "ops/delta.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "hiptool/error.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;

namespace {

Tensor delta_tensor(const Backend& backend, const std::vector<float>& values,
                    std::initializer_list<std::uint64_t> dims) {
  return Tensor::from_host({backend.allocator(), backend.stream()}, values, dims);
}

std::vector<float> part_of(const std::vector<float>& all, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// A sequence in chunks of so many tokens, with the state handed on in place or from one copy to
/// another.
std::vector<float> convolved(const Backend& backend, const std::vector<float>& inputs,
                             const std::vector<float>& weights, std::size_t channels,
                             std::size_t taps, std::size_t chunk, bool is_in_place) {
  std::vector<float> all;
  std::optional<Tensor> state;
  const std::size_t tokens = inputs.size() / channels;
  for (std::size_t at = 0; at < tokens; at += chunk) {
    const std::size_t count = std::min(chunk, tokens - at);
    const Tensor own =
        delta_tensor(backend, part_of(inputs, at * channels, count * channels), {count, channels});
    Tensor out = backend.empty(DType::f32, {count, channels});
    ops::causal_convolution_into(backend, out, own,
                                 delta_tensor(backend, weights, {channels * taps}), taps, state);
    Tensor next = state && is_in_place ? *state : backend.empty(DType::f32, {taps - 1, channels});
    ops::keep_inputs_into(backend, next, own, state);
    state = next;
    const std::vector<float> found = out.to_host<float>(backend.stream());
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

DeltaSpec delta_of(std::uint64_t key_heads, std::uint64_t value_heads, std::uint64_t key_length,
                   std::uint64_t value_length, bool is_tiled = false) {
  DeltaSpec delta;
  delta.is_tiled = is_tiled;
  delta.key_heads = key_heads;
  delta.value_heads = value_heads;
  delta.key_length = key_length;
  delta.value_length = value_length;
  return delta;
}

struct RuleInputs {
  std::vector<float> q, k, v, decays, betas;
};

/// Keys of length 1; v lies in rows with further elements, as results of a convolution do.
RuleInputs rule_inputs(const DeltaSpec& delta, std::size_t tokens, std::size_t more) {
  const auto heads = static_cast<std::size_t>(delta.value_heads);
  RuleInputs inputs;
  inputs.q = test::random_floats(tokens * static_cast<std::size_t>(delta.keys()), 1);
  inputs.k = test::random_floats(tokens * static_cast<std::size_t>(delta.keys()), 2);
  inputs.v = test::random_floats(tokens * (static_cast<std::size_t>(delta.values()) + more), 3);
  const auto length = static_cast<std::size_t>(delta.key_length);
  for (std::size_t at = 0; at < inputs.k.size(); at += length) {
    float squares = 0;
    for (std::size_t i = at; i < at + length; ++i) squares += inputs.k[i] * inputs.k[i];
    for (std::size_t i = at; i < at + length; ++i) inputs.k[i] /= std::sqrt(squares);
  }
  for (const float number : test::random_floats(tokens * heads, 4)) {
    inputs.decays.push_back(1 / (1 + std::exp(-3 - number)));
    inputs.betas.push_back(1 / (1 + std::exp(number)));
  }
  return inputs;
}

std::vector<float> ruled(const Backend& backend, const DeltaSpec& delta, const RuleInputs& inputs,
                         std::size_t tokens, std::size_t more, std::size_t chunk,
                         bool is_in_place) {
  const auto keys = static_cast<std::size_t>(delta.keys());
  const auto heads = static_cast<std::size_t>(delta.value_heads);
  const auto values = static_cast<std::size_t>(delta.values());
  std::vector<float> all;
  std::optional<Tensor> state;
  for (std::size_t at = 0; at < tokens; at += chunk) {
    const std::size_t count = std::min(chunk, tokens - at);
    const auto rows = [&](const std::vector<float>& from, std::size_t width) {
      return delta_tensor(backend, part_of(from, at * width, count * width), {count, width});
    };
    const Tensor wide = rows(inputs.v, values + more);
    Tensor out = backend.empty(DType::f32, {count, values});
    Tensor next =
        state && is_in_place
            ? *state
            : backend.empty(DType::f32, {delta.value_heads, delta.key_length, delta.value_length});
    ops::delta_rule_into(backend, out, next,
                         {rows(inputs.q, keys), rows(inputs.k, keys),
                          wide.with_layout(wide.layout().narrow(1, more, values)),
                          rows(inputs.decays, heads), rows(inputs.betas, heads)},
                         delta, state);
    state = next;
    const std::vector<float> found = out.to_host<float>(backend.stream());
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

/// By whole matrices: S_t = decay S (I - beta k k^T) + beta v k^T, with states of value_length
/// rows.
std::vector<double> rule_by_matrices(const DeltaSpec& delta, const RuleInputs& inputs,
                                     std::size_t tokens, std::size_t more) {
  const auto heads = static_cast<std::size_t>(delta.value_heads);
  const auto key_heads = static_cast<std::size_t>(delta.key_heads);
  const auto length = static_cast<std::size_t>(delta.key_length);
  const auto rows = static_cast<std::size_t>(delta.value_length);
  const std::size_t width = heads * rows + more;
  std::vector<double> results(tokens * heads * rows);
  for (std::size_t head = 0; head < heads; ++head) {
    std::vector<double> state(rows * length);
    for (std::size_t token = 0; token < tokens; ++token) {
      const std::size_t key_head = delta.is_tiled ? head % key_heads : head * key_heads / heads;
      const std::size_t key_at = (token * key_heads + key_head) * length;
      const double beta = inputs.betas[token * heads + head];
      const double decay = inputs.decays[token * heads + head];
      std::vector<double> turned(rows * length);
      for (std::size_t row = 0; row < rows; ++row) {
        const double v = inputs.v[token * width + more + head * rows + row];
        for (std::size_t j = 0; j < length; ++j) {
          double sum = 0;
          for (std::size_t i = 0; i < length; ++i) {
            const double one = i == j ? 1 : 0;
            sum += state[row * length + i] *
                   (one - beta * inputs.k[key_at + i] * double{inputs.k[key_at + j]});
          }
          turned[row * length + j] = decay * sum + beta * v * inputs.k[key_at + j];
        }
      }
      state = turned;
      for (std::size_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (std::size_t i = 0; i < length; ++i) {
          sum += state[row * length + i] * inputs.q[key_at + i];
        }
        results[(token * heads + head) * rows + row] = sum;
      }
    }
  }
  return results;
}

double largest_off(const std::vector<float>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(found[i] - expected[i]));
  }
  return largest;
}

}  // namespace

TEST_CASE("delta: a causal convolution, in chunks of any length") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::size_t tokens = 7;
  for (const std::size_t taps : {1U, 4U, 9U}) {
    for (const std::size_t channels : {5U, 131U}) {
      CAPTURE(taps);
      CAPTURE(channels);
      const std::vector<float> inputs = test::random_floats(tokens * channels, 5);
      const std::vector<float> weights = test::random_floats(channels * taps, 6);
      const std::vector<float> whole =
          convolved(backend, inputs, weights, channels, taps, tokens, false);
      std::vector<double> expected;
      for (std::size_t token = 0; token < tokens; ++token) {
        for (std::size_t channel = 0; channel < channels; ++channel) {
          double sum = 0;
          for (std::size_t back = 0; back < taps && back <= token; ++back) {
            sum += double{weights[channel * taps + taps - 1 - back]} *
                   inputs[(token - back) * channels + channel];
          }
          expected.push_back(sum / (1 + std::exp(-sum)));
        }
      }
      CHECK(largest_off(whole, expected) < 2e-5);
      for (const std::size_t chunk : {1U, 3U}) {
        for (const bool is_in_place : {false, true}) {
          CHECK(convolved(backend, inputs, weights, channels, taps, chunk, is_in_place) == whole);
        }
      }
    }
  }
}

TEST_CASE("delta: decays and betas, of large numbers too") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<float> steps{0, 1, -1, 20, -20, 90, -90, 0.001F, -0.001F, 5, -5, -12};
  const std::vector<float> scores{0, 1, -1, 30, -30, 100, -100, 0.5F, -0.5F, 8, -8, 3};
  const std::vector<float> decay_log{-3, 0.5F, 2.5F};
  const std::vector<float> bias{0.25F, -1, 0};
  Tensor decays = backend.empty(DType::f32, {4, 3});
  Tensor betas = backend.empty(DType::f32, {4, 3});
  ops::delta_steps_into(backend, decays, betas, delta_tensor(backend, steps, {4, 3}),
                        delta_tensor(backend, scores, {4, 3}),
                        delta_tensor(backend, decay_log, {3}), delta_tensor(backend, bias, {3}),
                        false);
  const std::vector<float> found = decays.to_host<float>(backend.stream());
  const std::vector<float> found_betas = betas.to_host<float>(backend.stream());
  for (std::size_t at = 0; at < steps.size(); ++at) {
    CAPTURE(at);
    const double x = double{steps[at]} + bias[at % 3];
    const double softplus = std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    const double rate = std::exp(double{decay_log[at % 3]}) * softplus;
    CHECK(std::abs(found[at] - std::exp(-rate)) <= (rate * 20 + 4) * 0x1p-24 * std::exp(-rate));
    const double beta = 1 / (1 + std::exp(-double{scores[at]}));
    CHECK(std::abs(found_betas[at] - beta) <= 4 * 0x1p-24 * beta + 0x1p-149);
  }
}

TEST_CASE("delta: rates in place of their logarithms give the same decays") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const std::vector<float> steps{0, 1, -1, 3, -8, 12};
  const auto decays_of = [&](const std::vector<float>& logs, bool has_rates) {
    Tensor decays = backend.empty(DType::f32, {3, 2});
    Tensor betas = backend.empty(DType::f32, {3, 2});
    const Tensor numbers = delta_tensor(backend, steps, {3, 2});
    ops::delta_steps_into(backend, decays, betas, numbers, numbers,
                          delta_tensor(backend, logs, {2}),
                          delta_tensor(backend, {0.5F, -0.25F}, {2}), has_rates);
    return decays.to_host<float>(backend.stream());
  };
  CHECK(decays_of({0, 0}, false) == decays_of({-1, -1}, true));
  CHECK(decays_of({0, 0}, false) != decays_of({-1, -1.5F}, true));
}

TEST_CASE("delta: the rule, in chunks of any length") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::size_t tokens = 6;
  for (const DeltaSpec& delta :
       {delta_of(1, 1, 1, 1), delta_of(2, 6, 5, 7), delta_of(2, 6, 5, 7, true),
        delta_of(3, 3, 16, 11), delta_of(1, 2, 128, 65)}) {
    for (const std::size_t more : {0U, 3U}) {
      const std::uint64_t key_length = delta.key_length;
      CAPTURE(key_length);
      CAPTURE(more);
      const RuleInputs inputs = rule_inputs(delta, tokens, more);
      const std::vector<float> whole = ruled(backend, delta, inputs, tokens, more, tokens, false);
      const double bound = 1e-5 + 4e-6 * static_cast<double>(key_length);
      CHECK(largest_off(whole, rule_by_matrices(delta, inputs, tokens, more)) < bound);
      for (const std::size_t chunk : {1U, 4U}) {
        for (const bool is_in_place : {false, true}) {
          CHECK(ruled(backend, delta, inputs, tokens, more, chunk, is_in_place) == whole);
        }
      }
    }
  }
}

TEST_CASE("delta: shapes that do not fit each other") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const auto empty = [&](std::initializer_list<std::uint64_t> dims) {
    return backend.empty(DType::f32, dims);
  };
  Tensor out = empty({3, 5});
  const Tensor inputs = empty({3, 5});
  CHECK_THROWS_AS(ops::causal_convolution_into(backend, out, inputs, empty({19}), 4, {}), Error);
  CHECK_THROWS_AS(ops::causal_convolution_into(backend, out, inputs, empty({20}), 4, empty({2, 5})),
                  Error);
  CHECK_THROWS_AS(ops::causal_convolution_into(backend, out, empty({2, 5}), empty({20}), 4, {}),
                  Error);
  Tensor state = empty({3, 4});
  CHECK_THROWS_AS(ops::keep_inputs_into(backend, state, inputs, {}), Error);
  const DeltaSpec delta = delta_of(2, 6, 5, 7);
  Tensor results = empty({3, 42});
  Tensor rule_state = empty({6, 5, 7});
  const auto refused = [&](const ops::DeltaInputs& of, const DeltaSpec& spec) {
    CHECK_THROWS_AS(ops::delta_rule_into(backend, results, rule_state, of, spec, {}), Error);
  };
  const ops::DeltaInputs right{empty({3, 10}), empty({3, 10}), empty({3, 42}), empty({3, 6}),
                               empty({3, 6})};
  ops::DeltaInputs wrong = right;
  wrong.k = empty({3, 9});
  refused(wrong, delta);
  wrong = right;
  wrong.v = empty({2, 42});
  refused(wrong, delta);
  wrong = right;
  wrong.betas = empty({3, 2});
  refused(wrong, delta);
  refused(right, delta_of(4, 6, 5, 7));
  refused(right, delta_of(2, 6, 7, 5));
}
