// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/ops_model.hpp"
#include "reference/ops/attention.hpp"
#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::AttentionOptions;
using ops::KVCache;
using reference::Values;
using test::Placement;

namespace {

/// Heads of one call: tokens from `first` on.
struct Heads {
  std::uint64_t first = 0;
  std::uint64_t tokens = 1;
  std::uint64_t heads = 1;
  std::uint64_t cache_heads = 1;
  std::uint64_t key_size = 16;
  std::uint64_t value_size = 16;
};

Values head_values(std::uint64_t tokens, std::uint64_t heads, std::uint64_t size,
                   std::uint32_t seed) {
  Values values{{tokens, heads, size}, {}};
  std::mt19937 random(seed);
  for (std::uint64_t i = 0; i < tokens * heads * size; ++i) {
    values.at.push_back(4 * (0x1p-31L * random() - 1));
  }
  return reference::values_of(DType::f32, reference::bytes_of(DType::f32, values), values.dims);
}

Tensor head_tensor(const Backend& backend, const Values& values,
                   Placement placement = Placement::packed) {
  const Tensor tensor = test::place(backend, DType::f32, values.dims, placement);
  test::write(backend, tensor, values);
  return tensor;
}

/// Room for one more position than is used, which holds NaN.
KVCache filled_cache(const Backend& backend, const Values& keys, const Values& values) {
  KVCache cache{
      test::place(backend, DType::f32,
                  std::vector<std::uint64_t>{keys.dims[0] + 1, keys.dims[1], keys.dims[2]},
                  Placement::packed),
      test::place(backend, DType::f32,
                  std::vector<std::uint64_t>{values.dims[0] + 1, values.dims[1], values.dims[2]},
                  Placement::packed)};
  ops::kv_append(backend, cache, head_tensor(backend, keys), head_tensor(backend, values), 0);
  return cache;
}

/// Of heads in turn: above most scores, below all of them, and among them.
std::vector<float> sinks_of(std::uint64_t heads, std::uint32_t seed) {
  std::vector<float> sinks = test::random_floats(heads, seed);
  for (std::uint64_t head = 0; head < heads; ++head) {
    sinks[head] += head % 3 == 0 ? 20.0F : head % 3 == 1 ? -40.0F : 0.0F;
  }
  return sinks;
}

void check_attention(const Backend& backend, const Heads& shape, const AttentionOptions& chosen,
                     Placement placement = Placement::packed,
                     const std::vector<float>& sinks = {}) {
  const std::uint64_t positions = shape.first + shape.tokens;
  const Values q = head_values(shape.tokens, shape.heads, shape.key_size, 21);
  const Values keys = head_values(positions, shape.cache_heads, shape.key_size, 22);
  const Values values = head_values(positions, shape.cache_heads, shape.value_size, 23);
  AttentionOptions options = chosen;
  options.first_position = shape.first;
  if (!sinks.empty()) {
    options.sinks = Tensor::from_host(TensorMemory(backend.allocator(), backend.stream()), sinks,
                                      {sinks.size()});
  }
  const double usual = 1 / std::sqrt(static_cast<double>(shape.key_size));
  const auto expected = reference::attention(
      q, keys, values,
      {shape.first,
       options.window.value_or(0),
       static_cast<long double>(static_cast<float>(options.scale.value_or(usual))),
       static_cast<long double>(options.softcap),
       {sinks.begin(), sinks.end()}});
  Tensor out = test::place(backend, DType::f32, expected.values.dims, placement);
  ops::attention_into(backend, out, head_tensor(backend, q, placement),
                      filled_cache(backend, keys, values), options);
  test::check_result(DType::f32, test::read(backend, out), expected);
}

const std::vector<Heads> heads_of_any_size{
    {0, 1, 1, 1, 16, 16},  {0, 5, 6, 2, 24, 24},     {3, 4, 4, 4, 80, 80}, {7, 2, 9, 3, 64, 32},
    {255, 2, 2, 1, 17, 1}, {600, 2, 3, 3, 256, 256}, {2, 3, 4, 1, 1, 30}};

// Enough tokens for blocks of many rows on GPUs of up to 160 multiprocessors: whole and cut blocks,
// groups whose size does not divide these, heads of one to 16 times 16 elements.
const std::vector<Heads> heads_of_many_tokens{{0, 61, 36, 12, 24, 40},  {250, 48, 14, 7, 64, 64},
                                              {40, 90, 10, 10, 17, 1},  {180, 96, 7, 7, 80, 80},
                                              {3, 19, 56, 8, 128, 128}, {241, 17, 20, 20, 256, 200},
                                              {0, 530, 2, 2, 1, 30}};

// Two layouts for long caches: each takes seconds on a processor.
std::vector<Placement> placements_of(const Heads& shape) {
  if (shape.first > 100) return {Placement::packed, Placement::spread};
  return {test::placements.begin(), test::placements.end()};
}

std::vector<std::uint32_t> bits_of_heads(const Backend& backend, const Tensor& tensor) {
  const std::vector<float> values = tensor.to_host<float>(backend.stream());
  std::vector<std::uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

}  // namespace

TEST_CASE("attention of heads of any size, in groups, in any layout") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const Heads& shape : heads_of_any_size) {
    CAPTURE(shape.first);
    CAPTURE(shape.key_size);
    for (const Placement placement : placements_of(shape)) {
      check_attention(backend, shape, {}, placement);
    }
    check_attention(backend, shape, {.scale = 0.3});
    check_attention(backend, shape, {.scale = 1, .softcap = 5});
  }
}

TEST_CASE("attention of many tokens") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const Heads& shape : heads_of_many_tokens) {
    CAPTURE(shape.first);
    CAPTURE(shape.key_size);
    check_attention(backend, shape, {});
  }
  const AttentionOptions all_options{.window = 19, .scale = 0.3, .softcap = 5};
  for (const Heads& shape : {heads_of_many_tokens[0], heads_of_many_tokens[2]}) {
    CAPTURE(shape.first);
    check_attention(backend, shape, all_options, Placement::spread, sinks_of(shape.heads, 24));
    check_attention(backend, shape, {.window = 1});
    check_attention(backend, shape, {.window = 50, .softcap = 3});
  }
}

TEST_CASE("a window shows that many keys, the token's own among them") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const std::uint64_t window : {1u, 2u, 5u, 256u, 257u, 1000u}) {
    CAPTURE(window);
    check_attention(backend, {0, 9, 2, 1, 16, 16}, {.window = window});
    check_attention(backend, {515, 3, 2, 1, 16, 16}, {.window = window});
  }
}

TEST_CASE("sinks are scores without a value, one for each head") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  for (const Heads& shape : heads_of_any_size) {
    CAPTURE(shape.first);
    CAPTURE(shape.key_size);
    const std::vector<float> sinks = sinks_of(shape.heads, 24);
    for (const Placement placement : placements_of(shape)) {
      check_attention(backend, shape, {}, placement, sinks);
    }
    for (const std::uint64_t window : {1u, 5u, 256u}) {
      CAPTURE(window);
      check_attention(backend, shape, {.window = window}, Placement::packed, sinks);
      check_attention(backend, shape, {.window = window, .scale = 1, .softcap = 5},
                      Placement::packed, sinks);
    }
  }
}

TEST_CASE("edges of sinks") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  const float infinity = std::numeric_limits<float>::infinity();
  const auto attended = [&](const std::vector<float>& keys, std::vector<float> sinks) {
    const std::uint64_t count = keys.size();
    const Tensor values = Tensor::from_host(memory, std::vector<float>(count, 3), {count, 1, 1});
    const Tensor q =
        Tensor::from_host(memory, std::vector<float>(sinks.size(), 1), {1, sinks.size(), 1});
    AttentionOptions options{.first_position = count - 1};
    options.sinks = Tensor::from_host(memory, sinks, {sinks.size()});
    return ops::attention(backend, q, {Tensor::from_host(memory, keys, {count, 1, 1}), values},
                          options)
        .to_host<float>(backend.stream());
  };
  const std::vector<float> found =
      attended({2, 2}, {-infinity, 2, 1000, infinity, std::nanf(""), -1000});
  CHECK(found[0] == 3);  // takes no part
  CHECK(found[1] == 2);  // a third of it
  CHECK(found[2] == 0);
  CHECK(std::isnan(found[3]));
  CHECK(std::isnan(found[4]));
  CHECK(found[5] == 3);
  // Beside keys that have no part the sink has all of it; beside nothing there is no part to give.
  CHECK(attended({-infinity, -infinity}, {5})[0] == 0);
  CHECK(std::isnan(attended({-infinity, -infinity}, {-infinity})[0]));
  std::vector<float> late(300, -infinity);
  late[299] = 7;
  CHECK(attended(late, {7})[0] == 1.5F);
}

TEST_CASE("sinks that do not fit are refused") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const KVCache cache = ops::make_kv_cache(backend, 4, 2, 16, 16);
  const Tensor q = backend.empty(DType::f32, {1, 4, 16});
  const auto refused = [&](const Tensor& sinks, bool is_causal) {
    return test::code_of([&] {
      static_cast<void>(
          ops::attention(backend, q, cache, {.sinks = sinks, .is_causal = is_causal}));
    });
  };
  CHECK(refused(backend.empty(DType::f32, {3}), true) == ErrorCode::invalid_argument);
  CHECK(refused(backend.empty(DType::f32, {4, 1}), true) == ErrorCode::invalid_argument);
  CHECK(refused(backend.empty(DType::f16, {4}), true) == ErrorCode::invalid_argument);
  const std::vector<std::uint64_t> four{4}, two{2};
  const Tensor apart = backend.empty(DType::f32, {8});
  CHECK(refused(apart.with_layout(Layout::strided(four, two, 0)), true) ==
        ErrorCode::invalid_argument);
  CHECK(refused(backend.empty(DType::f32, {4}), false) == ErrorCode::invalid_argument);
  // Results in the memory of the sinks.
  Tensor out = backend.empty(DType::f32, {1, 4, 16});
  AttentionOptions options;
  options.sinks = out.with_layout(Layout({4}));
  CHECK(test::code_of([&] { ops::attention_into(backend, out, q, cache, options); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("attention gives the same bits however a prompt is cut") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  using Window = std::optional<std::uint64_t>;
  using Sinks = std::optional<Tensor>;
  // A segment ends within all; blocks of many rows are in the first one on the processor alone, in
  // the others on GPUs too.
  for (const Heads& shape : {Heads{250, 21, 4, 2, 40, 40}, Heads{230, 70, 12, 6, 40, 72},
                             Heads{235, 33, 21, 7, 37, 30}}) {
    CAPTURE(shape.tokens);
    const std::uint64_t positions = shape.first + shape.tokens;
    Values keys = head_values(positions, shape.cache_heads, shape.key_size, 32);
    Values values = head_values(positions, shape.cache_heads, shape.value_size, 33);
    // What the last tokens alone see spoils no other one.
    const std::uint64_t last = (positions - 3) * shape.cache_heads;
    keys.at[last * shape.key_size] = std::numeric_limits<double>::infinity();
    values.at[last * shape.value_size] = std::numeric_limits<double>::infinity();
    values.at[(last + 1) * shape.value_size] = std::numeric_limits<double>::quiet_NaN();
    const Tensor queries =
        head_tensor(backend, head_values(shape.tokens, shape.heads, shape.key_size, 31));
    const Tensor sinks = Tensor::from_host(memory, sinks_of(shape.heads, 34), {shape.heads});
    for (const auto& [window, own_sinks] :
         {std::pair{Window{}, Sinks{}}, std::pair{Window{19}, Sinks{}},
          std::pair{Window{}, Sinks{sinks}}, std::pair{Window{19}, Sinks{sinks}}}) {
      // Nor does what is before a window.
      keys.at[0] = window ? std::numeric_limits<double>::quiet_NaN() : 0.5;
      const KVCache cache = filled_cache(backend, keys, values);
      AttentionOptions options{.first_position = shape.first, .window = window, .sinks = own_sinks};
      if (window && own_sinks) options.softcap = 2;
      const auto whole = bits_of_heads(backend, ops::attention(backend, queries, cache, options));
      for (const std::uint64_t chunk : {1u, 2u, 8u}) {
        CAPTURE(chunk);
        std::vector<std::uint32_t> parts;
        for (std::uint64_t done = 0; done < shape.tokens; done += chunk) {
          const std::uint64_t count = std::min(chunk, shape.tokens - done);
          options.first_position = shape.first + done;
          const Tensor some = queries.with_layout(queries.layout().narrow(0, done, count));
          const auto part = bits_of_heads(backend, ops::attention(backend, some, cache, options));
          parts.insert(parts.end(), part.begin(), part.end());
        }
        CHECK(parts == whole);
      }
    }
  }
}

TEST_CASE("edges of attention") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TensorMemory memory(backend.allocator(), backend.stream());
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor keys = Tensor::from_host(
      memory, std::vector<float>{-infinity, 1, infinity, std::nanf("")}, {4, 1, 1});
  const Tensor values = Tensor::from_host(memory, std::vector<float>{1, 3, 5, 7}, {4, 1, 1});
  const Tensor q = Tensor::from_host(memory, std::vector<float>{1, 1, 1, 1}, {4, 1, 1});
  const auto found =
      ops::attention(backend, q, {keys, values}, {}).to_host<float>(backend.stream());
  CHECK(std::isnan(found[0]));  // nothing but -infinity
  CHECK(found[1] == 3);
  CHECK(std::isnan(found[2]));
  CHECK(std::isnan(found[3]));
  // Scores of -infinity in the first segment do not spoil the next one.
  std::vector<float> many(300, -infinity);
  std::vector<float> ones(300, 2);
  many[299] = 1;
  ones[299] = 9;
  const KVCache long_cache{Tensor::from_host(memory, many, {300, 1, 1}),
                           Tensor::from_host(memory, ones, {300, 1, 1})};
  const Tensor one = Tensor::from_host(memory, std::vector<float>{1}, {1, 1, 1});
  CHECK(ops::attention(backend, one, long_cache, {.first_position = 299})
            .to_host<float>(backend.stream()) == std::vector<float>{9});
  CHECK(ops::attention(backend, backend.empty(DType::f32, {0, 1, 1}), long_cache, {})
            .element_count() == 0);
}

TEST_CASE("attention and its cache refuse what does not fit, before a launch") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  KVCache cache = ops::make_kv_cache(backend, 8, 2, 16, 16);
  const Tensor q = backend.empty(DType::f32, {3, 4, 16});
  const Tensor rows = backend.empty(DType::f32, {3, 2, 16});
  CHECK_THROWS_WITH_AS(ops::attention(backend, q, cache, {.first_position = 6}),
                       doctest::Contains("3 tokens from position 6 on exceed the cache's capacity"
                                         " of 8"),
                       Error);
  CHECK_THROWS_AS(ops::attention(backend, q, cache, {.first_position = ~std::uint64_t{0}}), Error);
  CHECK_THROWS_AS(ops::kv_append(backend, cache, rows, rows, 6), Error);
  CHECK_THROWS_AS(ops::kv_append(backend, cache, q, q, 0), Error);
  CHECK_THROWS_AS(ops::kv_append(backend, cache, rows, backend.empty(DType::f32, {2, 2, 16}), 0),
                  Error);
  CHECK_THROWS_WITH_AS(ops::attention(backend, rows.with_layout(Layout({2, 3, 16})), cache, {}),
                       doctest::Contains("heads are a multiple of the cache's"), Error);
  CHECK_THROWS_AS(ops::attention(backend, q, cache, {.window = 0}), Error);
  CHECK_THROWS_AS(ops::attention(backend, q, cache, {.softcap = -1}), Error);
  CHECK_THROWS_AS(ops::attention(backend, backend.empty(DType::f16, {3, 4, 16}), cache, {}), Error);
  CHECK_THROWS_WITH_AS(ops::attention(backend, backend.empty(DType::f32, {1, 1, 257}),
                                      ops::make_kv_cache(backend, 2, 1, 257, 16), {}),
                       doctest::Contains("heads have 1 to 256 elements, not 257"), Error);
  ops::kv_append(backend, cache, rows, rows, 5);
  backend.synchronize();
}
