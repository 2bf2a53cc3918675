// SPDX-License-Identifier: MIT
#include "ops/token_attention.hpp"

#include <cstdint>
#include <optional>
#include <vector>

#include "unit/ops/check_operation.hpp"

using namespace hiptool;
using ops::AttentionOptions;
using ops::KVCache;
using test::random_tensor;

namespace {

/// A token behind others, and what happens to its heads.
struct TokenCase {
  std::uint64_t position = 0;
  std::uint64_t heads = 1;
  std::uint64_t cache_heads = 1;
  std::uint64_t key_size = 16;
  std::uint64_t value_size = 16;
  std::uint64_t pairs = 0;
  RopePairs kind = RopePairs::halves;
  bool has_norms = false;
  bool has_sinks = false;
  std::optional<std::uint64_t> window = std::nullopt;
};

KVCache random_cache(const Backend& backend, const TokenCase& token) {
  const std::uint64_t capacity = token.position + 2;
  return {random_tensor(backend, {capacity, token.cache_heads, token.key_size}, 1),
          random_tensor(backend, {capacity, token.cache_heads, token.value_size}, 2)};
}

/// The separate operations.
Tensor attended_by_steps(const Backend& backend, const ops::TokenHeads& heads, KVCache& cache,
                         const ops::HeadSteps& steps, const AttentionOptions& options) {
  const std::uint64_t position = options.first_position;
  const auto turned = [&](const Tensor& rows, const Tensor* norm) {
    Tensor own = rows;
    if (norm != nullptr) own = ops::rmsnorm(backend, own, *norm, steps.norm_epsilon);
    if (steps.tables == nullptr) return own;
    const auto row = [&](const Tensor& table) {
      return table.with_layout(table.layout().narrow(0, position, 1));
    };
    return ops::rope(backend, own, row(steps.tables->cosines), row(steps.tables->sines),
                     steps.pairs);
  };
  const Tensor q = turned(heads.q, steps.query_norm);
  ops::kv_append(backend, cache, turned(heads.k, steps.key_norm), heads.v, position);
  return ops::attention(backend, q, cache, options);
}

void check_token(const Backend& backend, const TokenCase& token) {
  const ops::TokenHeads heads{random_tensor(backend, {1, token.heads, token.key_size}, 3),
                              random_tensor(backend, {1, token.cache_heads, token.key_size}, 4),
                              random_tensor(backend, {1, token.cache_heads, token.value_size}, 5)};
  const Tensor query_norm = random_tensor(backend, {token.key_size}, 6);
  const Tensor key_norm = random_tensor(backend, {token.key_size}, 7);
  std::optional<ops::RopeTables> tables;
  if (token.pairs > 0) {
    tables = ops::RopeTables{random_tensor(backend, {token.position + 1, token.pairs}, 8),
                             random_tensor(backend, {token.position + 1, token.pairs}, 9)};
  }
  ops::HeadSteps steps;
  if (token.has_norms) {
    steps.query_norm = &query_norm;
    steps.key_norm = &key_norm;
    steps.norm_epsilon = 1e-6;
  }
  if (tables) steps.tables = &*tables;
  steps.pairs = token.kind;
  AttentionOptions options;
  options.first_position = token.position;
  options.window = token.window;
  if (token.has_sinks) options.sinks = random_tensor(backend, {token.heads}, 10);
  KVCache by_steps = random_cache(backend, token);
  const Tensor expected = attended_by_steps(backend, heads, by_steps, steps, options);
  KVCache cache = random_cache(backend, token);
  Tensor out = backend.zeros(DType::f32, {1, token.heads, token.value_size});
  REQUIRE(ops::attend_token_into(backend, out, heads, cache, steps, options));
  CHECK(test::read(backend, out) == test::read(backend, expected));
  CHECK(test::read(backend, cache.keys) == test::read(backend, by_steps.keys));
  CHECK(test::read(backend, cache.values) == test::read(backend, by_steps.values));
}

}  // namespace

TEST_CASE("attention of a token in one launch has the bits of its steps") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  constexpr auto near = RopePairs::neighbours;
  constexpr auto apart = RopePairs::halves;
  for (const TokenCase& token :
       std::vector<TokenCase>{{0, 1, 1, 16, 16},
                              {3, 6, 2, 24, 24, 12, near},
                              {70, 4, 1, 128, 128, 64, apart},
                              {255, 2, 2, 64, 64, 32, apart, true},
                              {256, 3, 3, 80, 48, 20, near, true, true},
                              {300, 4, 2, 256, 256, 128, apart, true, false, 5},
                              {513, 2, 1, 17, 9, 8, near, true, true, 300}}) {
    CAPTURE(token.position);
    CAPTURE(token.key_size);
    check_token(backend, token);
  }
}

TEST_CASE("attention of a token in one launch is for one token with cached places") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  const TokenCase token{2, 2, 1};
  KVCache cache = random_cache(backend, token);
  const ops::TokenHeads one{random_tensor(backend, {1, 2, 16}, 3),
                            random_tensor(backend, {1, 1, 16}, 4),
                            random_tensor(backend, {1, 1, 16}, 5)};
  const ops::TokenHeads two{random_tensor(backend, {2, 2, 16}, 3),
                            random_tensor(backend, {2, 1, 16}, 4),
                            random_tensor(backend, {2, 1, 16}, 5)};
  Tensor out = backend.zeros(DType::f32, {1, 2, 16});
  Tensor outs = backend.zeros(DType::f32, {2, 2, 16});
  AttentionOptions options;
  options.first_position = 2;
  CHECK(ops::attend_token_into(backend, out, one, cache, {}, options));
  CHECK(!ops::attend_token_into(backend, outs, two, cache, {}, options));
  options.first_position = 4;
  CHECK(!ops::attend_token_into(backend, out, one, cache, {}, options));
}
