// SPDX-License-Identifier: MIT
/// Attention with other masks than the causal one, and its parts as operations.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/matmul.hpp"
#include "hiptool/ops_model.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/ops_rows.hpp"
#include "reference/ops/attention.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using reference::Values;

namespace {

constexpr std::uint64_t query_heads = 4;
constexpr std::uint64_t kept_heads = 2;
constexpr std::uint64_t key_width = 16;
constexpr std::uint64_t value_width = 12;
const float hidden = -std::numeric_limits<float>::infinity();

std::vector<float> some_floats(std::uint64_t count, std::uint32_t seed) {
  std::vector<float> numbers(count);
  std::mt19937 random(seed);
  for (float& number : numbers)
    number = static_cast<float>(0x1p-30 * static_cast<double>(random()) - 2);
  return numbers;
}

Tensor on_device(const Backend& backend, const std::vector<float>& numbers,
                 std::vector<std::uint64_t> dims) {
  return Tensor::from_host<float>({backend.allocator(), backend.stream()}, numbers, dims);
}

Values as_values(const std::vector<float>& numbers, std::vector<std::uint64_t> dims) {
  return {std::move(dims), {numbers.begin(), numbers.end()}};
}

/// Tokens of one text and the positions that they attend to.
struct Text {
  Text(const Backend& backend, std::uint64_t token_count, std::uint64_t position_count)
      : tokens(token_count),
        positions(position_count),
        host_q(some_floats(tokens * query_heads * key_width, 1)),
        host_keys(some_floats(positions * kept_heads * key_width, 2)),
        host_values(some_floats(positions * kept_heads * value_width, 3)),
        q(on_device(backend, host_q, {tokens, query_heads, key_width})),
        keys(on_device(backend, host_keys, {positions, kept_heads, key_width})),
        values(on_device(backend, host_values, {positions, kept_heads, value_width})) {}

  std::uint64_t tokens;
  std::uint64_t positions;
  std::vector<float> host_q;
  std::vector<float> host_keys;
  std::vector<float> host_values;
  Tensor q;
  Tensor keys;
  Tensor values;

  /// Of the tokens one by one: `seen(i)` positions are seen from token i.
  template <class Seen>
  reference::Expected expected(Seen seen) const {
    reference::Expected all{{{tokens, query_heads, value_width}, {}}, {}};
    const auto first = [](const std::vector<float>& from, std::uint64_t start,
                          std::uint64_t count) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(start);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    for (std::uint64_t i = 0; i < tokens; ++i) {
      const std::uint64_t count = seen(i);
      const reference::Expected one = reference::attention(
          as_values(first(host_q, i * query_heads * key_width, query_heads * key_width),
                    {1, query_heads, key_width}),
          as_values(first(host_keys, 0, count * kept_heads * key_width),
                    {count, kept_heads, key_width}),
          as_values(first(host_values, 0, count * kept_heads * value_width),
                    {count, kept_heads, value_width}),
          {count - 1, 0, 0.25L, 0});
      all.values.at.insert(all.values.at.end(), one.values.at.begin(), one.values.at.end());
      all.slack.insert(all.slack.end(), one.slack.begin(), one.slack.end());
    }
    return all;
  }

  /// [heads, tokens or positions, width]
  static Tensor by_head(const Tensor& tensor) {
    return tensor.with_layout(tensor.layout().transpose(0, 1));
  }
};

/// Attention of single operations, with the mask that the function makes.
template <class Mask>
Tensor attention_by_parts(const Backend& backend, const Text& text, Mask mask) {
  constexpr std::uint64_t group = query_heads / kept_heads;
  const Tensor keys = Text::by_head(ops::repeat_heads(backend, text.keys, group));
  const Tensor values = Text::by_head(ops::repeat_heads(backend, text.values, group));
  const Tensor products =
      ops::matmul(backend, Text::by_head(text.q), keys.with_layout(keys.layout().transpose(1, 2)));
  const Tensor shares = ops::softmax(backend, mask(ops::affine(backend, products, 0.25, 0)));
  const Tensor sums = ops::sum(backend, shares, {2});
  for (const float sum : sums.to_host<float>(backend.stream())) {
    REQUIRE(std::abs(sum - 1) <= 1e-5F);
  }
  return ops::copy(backend, Text::by_head(ops::matmul(backend, shares, values)));
}

void check_text(const Backend& backend, const Tensor& found, const reference::Expected& expected) {
  test::check_result(DType::f32, test::read(backend, found), expected);
}

/// A product of matrices rounds its sum of shares otherwise: twice the slack.
reference::Expected with_twice_slack(reference::Expected expected) {
  for (auto& slack : expected.slack) slack = 2 * slack;
  return expected;
}

}  // namespace

TEST_CASE("attention without a causal mask: every token sees every position") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const std::uint64_t positions : {1u, 31u, 33u, 257u, 1024u}) {
    for (const std::uint64_t tokens : {1u, 5u}) {
      CAPTURE(positions);
      CAPTURE(tokens);
      const Text text(backend, tokens, positions);
      const Tensor found =
          ops::attention(backend, text.q, {text.keys, text.values}, {.is_causal = false});
      check_text(backend, found, text.expected([&](std::uint64_t) { return positions; }));
      // The last token of causal attention sees as much, by the same sums.
      const auto last =
          ops::attention(backend, text.q.with_layout(text.q.layout().narrow(0, tokens - 1, 1)),
                         {text.keys, text.values}, {.first_position = positions - 1});
      const auto all = found.to_host<float>(backend.stream());
      CHECK(std::equal(all.end() - query_heads * value_width, all.end(),
                       last.to_host<float>(backend.stream()).begin()));
    }
  }
  const Text text(backend, 3, 8);
  const ops::KVCache cache{text.keys, text.values};
  const auto error = [&](const ops::KVCache& of, const ops::AttentionOptions& options) {
    return test::code_of([&] { static_cast<void>(ops::attention(backend, text.q, of, options)); });
  };
  CHECK(error(cache, {.window = 4, .is_causal = false}) == ErrorCode::invalid_argument);
  CHECK(error(ops::make_kv_cache(backend, 0, kept_heads, key_width, value_width),
              {.is_causal = false}) == ErrorCode::invalid_argument);
  CHECK_NOTHROW(static_cast<void>(
      ops::attention(backend, text.q, cache, {.first_position = 100, .is_causal = false})));
}

TEST_CASE("causal attention of whole texts, fused and by its parts") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const std::uint64_t length : {1u, 31u, 33u, 257u, 1024u}) {
    CAPTURE(length);
    if (test::is_sanitized && length > 257) continue;
    const Text text(backend, length, length);
    const auto expected = text.expected([](std::uint64_t i) { return i + 1; });
    check_text(backend, ops::attention(backend, text.q, {text.keys, text.values}, {}), expected);
    const Tensor parts = attention_by_parts(
        backend, text, [&](const Tensor& scores) { return ops::causal_mask(backend, scores); });
    check_text(backend, parts, with_twice_slack(expected));
  }
}

TEST_CASE("a mask that is added: positions that no token sees might not be there") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Text text(backend, 9, 40);
  std::vector<float> mask(40, 0);
  std::fill(mask.begin() + 23, mask.end(), hidden);
  for (const auto& dims : {std::vector<std::uint64_t>{40}, {1, 40}, {1, 1, 40}}) {
    const Tensor added = on_device(backend, mask, dims);
    const Tensor found = attention_by_parts(
        backend, text, [&](const Tensor& scores) { return ops::add_mask(backend, scores, added); });
    check_text(backend, found, with_twice_slack(text.expected([](std::uint64_t) { return 23u; })));
  }
}

TEST_CASE("causal_mask hides later keys and those before the window, of every dtype") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::uint64_t heads = 2, tokens = 5, keys = 11;
  const std::vector<float> numbers = some_floats(heads * tokens * keys, 5);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Tensor scores =
        ops::cast(backend, on_device(backend, numbers, {heads, tokens, keys}), dtype);
    const auto old = ops::cast(backend, scores, DType::f32).to_host<float>(backend.stream());
    for (const std::uint64_t first : {0u, 4u, 100u}) {
      for (const std::uint64_t window : {0u, 1u, 3u, 1000u}) {
        CAPTURE(first);
        CAPTURE(window);
        const Tensor masked = ops::causal_mask(backend, scores, first, window);
        CHECK(masked.dtype() == dtype);
        std::vector<float> wanted = old;
        for (std::uint64_t at = 0; at < wanted.size(); ++at) {
          const std::uint64_t key = at % keys;
          const std::uint64_t position = first + at / keys % tokens;
          const bool is_seen = key <= position && (window == 0 || position - key < window);
          if (!is_seen) wanted[at] = hidden;
        }
        CHECK(ops::cast(backend, masked, DType::f32).to_host<float>(backend.stream()) == wanted);
      }
    }
  }
}

TEST_CASE("repeat_heads repeats each head, in front or behind") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr std::uint64_t tokens = 3, heads = 2, size = 5;
  const std::vector<float> numbers = some_floats(tokens * heads * size, 6);
  const Tensor x = on_device(backend, numbers, {tokens, heads, size});
  for (const std::uint64_t count : {1u, 2u, 4u, 7u, 8u}) {  // the row's: 2, 4 and 8
    CAPTURE(count);
    const Tensor repeated = ops::repeat_heads(backend, x, count);
    CHECK(std::ranges::equal(repeated.dims(), std::array{tokens, heads * count, size}));
    const auto found = repeated.to_host<float>(backend.stream());
    for (std::uint64_t at = 0; at < found.size(); ++at) {
      const std::uint64_t token = at / (heads * count * size);
      const std::uint64_t head = at / size % (heads * count) / count;
      REQUIRE(found[at] == numbers[(token * heads + head) * size + at % size]);
    }
  }
}

TEST_CASE("masks refuse what does not fit") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const Tensor scores = backend.zeros(DType::f32, {2, 3, 4});
  const auto error = [&](auto call) { return test::code_of([&] { static_cast<void>(call()); }); };
  const auto add = [&](const Tensor& mask) {
    return error([&] { return ops::add_mask(backend, scores, mask); });
  };
  CHECK_NOTHROW(
      static_cast<void>(ops::add_mask(backend, scores, backend.zeros(DType::f32, {3, 4}))));
  CHECK(add(backend.zeros(DType::f32, {4, 3})) == ErrorCode::invalid_argument);
  CHECK(add(backend.zeros(DType::f32, {1, 2, 3, 4})) == ErrorCode::invalid_argument);
  CHECK(add(backend.zeros(DType::f16, {3, 4})) == ErrorCode::invalid_argument);
  const Tensor line = backend.zeros(DType::f32, {4});
  CHECK(error([&] { return ops::causal_mask(backend, line); }) == ErrorCode::invalid_argument);
  CHECK(error([&] { return ops::causal_mask(backend, scores, UINT64_MAX); }) ==
        ErrorCode::invalid_argument);
  CHECK(error([&] {
          return ops::causal_mask(backend, backend.zeros(DType::i32, {2, 2}));
        }) == ErrorCode::unsupported);
  CHECK(error([&] { return ops::repeat_heads(backend, scores, 0); }) ==
        ErrorCode::invalid_argument);
  CHECK(error([&] { return ops::repeat_heads(backend, scores, UINT64_MAX / 2); }) ==
        ErrorCode::invalid_argument);
  CHECK(error([&] { return ops::repeat_heads(backend, line, 2); }) == ErrorCode::invalid_argument);
  CHECK_NOTHROW(static_cast<void>(ops::causal_mask(backend, backend.zeros(DType::f32, {0, 4}))));
}
