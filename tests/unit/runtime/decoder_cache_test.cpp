// SPDX-License-Identifier: MIT
#include "hiptool/decoder_cache.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "support.hpp"
#include "unit/core/wrapped_device.hpp"

using namespace hiptool;
using hiptool::test::code_of;

namespace {

constexpr std::array<DecoderCache::Layer, 3> three_layers{{{2, 8, 4}, {1, 16, 16}, {4, 3, 5}}};

/// What a cache holds, on the host: appended in order, whatever the calls were.
struct HostCache {
  std::vector<std::vector<float>> keys = std::vector<std::vector<float>>(3);
  std::vector<std::vector<float>> values = std::vector<std::vector<float>>(3);
};

Tensor some_rows(const Backend& backend, std::uint64_t tokens, std::uint64_t heads,
                 std::uint64_t size, std::uint32_t seed, std::vector<float>& host) {
  std::vector<float> numbers(tokens * heads * size);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(seed * 1000 + i) / 8;
  }
  host.insert(host.end(), numbers.begin(), numbers.end());
  const std::array<std::uint64_t, 3> dims{tokens, heads, size};
  return Tensor::from_host<float>({backend.allocator(), backend.stream()}, numbers, dims);
}

void append_to_all(const Backend& backend, DecoderCache& cache, std::uint64_t tokens,
                   std::uint32_t seed, HostCache& host) {
  for (std::size_t i = 0; i < three_layers.size(); ++i) {
    const DecoderCache::Layer& layer = three_layers[i];
    const auto number = static_cast<std::uint32_t>(10 * seed + 2 * i);
    const Tensor keys =
        some_rows(backend, tokens, layer.heads, layer.key_size, number, host.keys[i]);
    const Tensor values =
        some_rows(backend, tokens, layer.heads, layer.value_size, number + 1, host.values[i]);
    cache.append(i, keys, values);
  }
}

void check_equal(const Backend& backend, const DecoderCache& cache, const HostCache& host) {
  for (std::size_t i = 0; i < three_layers.size(); ++i) {
    CAPTURE(i);
    const ops::KVCache got = cache.get(i);
    CHECK(got.keys.dims()[0] == cache.length());
    CHECK(got.keys.to_host<float>(backend.stream()) == host.keys[i]);
    CHECK(got.values.to_host<float>(backend.stream()) == host.values[i]);
  }
}

}  // namespace

TEST_CASE("cache: tokens appended to all layers in parts are those of the host") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  DecoderCache cache(backend, 12, three_layers);
  CHECK(cache.layer_count() == 3);
  CHECK(cache.capacity() == 12);
  HostCache host;
  std::uint32_t seed = 1;
  for (const std::uint64_t tokens : {5u, 1u, 0u, 6u}) {
    append_to_all(backend, cache, tokens, ++seed, host);
    CHECK(cache.layer(1).keys.dims()[0] == 12);
    cache.advance(tokens);
    check_equal(backend, cache, host);
  }
  CHECK(cache.length() == 12);

  HostCache fresh;
  cache.reset();
  CHECK(cache.length() == 0);
  append_to_all(backend, cache, 3, 40, fresh);
  cache.advance(3);
  check_equal(backend, cache, fresh);
  append_to_all(backend, cache, 2, 50, fresh);
  cache.advance(2);
  cache.truncate(7);  // has not that many
  CHECK(cache.length() == 5);
  cache.truncate(5);
  check_equal(backend, cache, fresh);
}

TEST_CASE("cache: before tokens count, a second append overwrites the first") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  DecoderCache cache(backend, 4, three_layers);
  HostCache first;
  HostCache second;
  append_to_all(backend, cache, 2, 1, first);
  CHECK(cache.length() == 0);
  append_to_all(backend, cache, 2, 2, second);
  cache.advance(2);
  check_equal(backend, cache, second);
}

TEST_CASE("cache: tokens that a kernel wrote count once every layer has them") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  DecoderCache cache(backend, 4, three_layers);
  HostCache host;
  append_to_all(backend, cache, 3, 1, host);
  cache.advance(3);
  cache.mark_appended(0, 1);
  cache.mark_appended(1, 1);
  CHECK_THROWS_WITH_AS(cache.advance(1), doctest::Contains("layer 2 has the tokens up to 3"),
                       Error);
  cache.mark_appended(2, 1);
  cache.advance(1);
  CHECK(cache.length() == 4);
  CHECK(code_of([&] { cache.mark_appended(0, 1); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { cache.mark_appended(3, 0); }) == ErrorCode::out_of_bounds);
  cache.truncate(3);
  check_equal(backend, cache, host);
}

TEST_CASE("cache: layers that are not there, tokens beyond the capacity, a layer left out") {
  Platforms platforms;
  const Backend backend(test::device(platforms));
  DecoderCache cache(backend, 4, three_layers);
  HostCache host;
  append_to_all(backend, cache, 3, 1, host);
  cache.advance(3);
  std::vector<float> unused;
  const Tensor keys = some_rows(backend, 2, 2, 8, 1, unused);
  const Tensor values = some_rows(backend, 2, 2, 4, 1, unused);
  CHECK(code_of([&] { cache.append(3, keys, values); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(cache.get(3)); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { static_cast<void>(cache.layer(3)); }) == ErrorCode::out_of_bounds);
  CHECK_THROWS_WITH_AS(cache.append(3, keys, values), doctest::Contains("layer 3 of a cache"),
                       Error);
  CHECK(code_of([&] { cache.append(0, keys, values); }) == ErrorCode::out_of_bounds);
  CHECK_THROWS_WITH_AS(cache.append(0, keys, values), doctest::Contains("capacity of 4"), Error);
  CHECK(code_of([&] { cache.append(1, keys, values); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { cache.advance(2); }) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] { cache.advance(UINT64_MAX); }) == ErrorCode::out_of_bounds);

  const auto one = [](const Tensor& rows) {
    return rows.with_layout(rows.layout().narrow(0, 0, 1));
  };
  cache.append(0, one(keys), one(values));
  CHECK_THROWS_WITH_AS(cache.advance(1), doctest::Contains("layer 1 has the tokens up to 3"),
                       Error);
  CHECK(cache.length() == 3);
  check_equal(backend, cache, host);
  CHECK(code_of([&] { DecoderCache(backend, 0, three_layers); }) == ErrorCode::invalid_argument);
}

TEST_CASE("cache: memory is that of the formula, one allocation") {
  test::WrappedDevice wrapped;
  const Backend backend(wrapped.device());
  // 2 x 8 x 12 x 4 = 768, 384 to 512, 768, 768, 4 x 3 x 12 x 4 = 576 to 768, 960 to 1024.
  CHECK(DecoderCache::memory_bytes(12, three_layers) == 768 + 512 + 768 + 768 + 768 + 1024);
  const auto before = wrapped.table().count("hipMalloc");
  const DecoderCache cache(backend, 12, three_layers);
  CHECK(wrapped.table().count("hipMalloc") == before + 1);
  constexpr std::array<DecoderCache::Layer, 1> huge{{{1u << 31, 1u << 31, 1}}};
  CHECK(code_of([&] { static_cast<void>(DecoderCache::memory_bytes(2, huge)); }) ==
        ErrorCode::invalid_argument);
}
