// SPDX-License-Identifier: MIT
#include "load/transfer/chunk_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

using namespace hiptool;
using base::ByteRange;

namespace {

std::vector<ByteRange> chunks_of(const std::vector<std::uint64_t>& sizes, std::uint64_t begin = 0) {
  std::vector<ByteRange> chunks;
  for (const std::uint64_t size : sizes) {
    chunks.push_back({begin, size});
    begin += size;
  }
  return chunks;
}

// As a ramp cuts them: up from an eighth, a long flat part with cuts that tensors moved a little,
// and down again.
std::vector<std::uint64_t> ramped_sizes(std::size_t flat) {
  std::vector<std::uint64_t> sizes{100, 100, 100, 100, 150, 250, 399, 401, 600};
  for (std::size_t i = 0; i < flat; ++i) sizes.push_back(i % 3 == 0 ? 800 : 785 + i % 11);
  sizes.insert(sizes.end(), {700, 500, 410, 390, 200, 100, 100, 37});
  return sizes;
}

std::vector<std::uint64_t> begins_of(const std::vector<ByteRange>& chunks) {
  std::vector<std::uint64_t> begins;
  begins.reserve(chunks.size());
  for (const ByteRange& chunk : chunks) begins.push_back(chunk.offset);
  return begins;
}

std::vector<std::uint64_t> ordered(const std::vector<std::uint64_t>& sizes, std::uint32_t regions) {
  return begins_of(load::order_chunks(chunks_of(sizes), regions));
}

}  // namespace

TEST_CASE("equal regions alternate, each from its start to its end") {
  const std::vector<std::uint64_t> equal(8, 10);
  CHECK(ordered(equal, 2) == std::vector<std::uint64_t>{0, 40, 10, 50, 20, 60, 30, 70});
  CHECK(ordered(equal, 4) == std::vector<std::uint64_t>{0, 20, 40, 60, 10, 30, 50, 70});
  // A chunk belongs to the region that it begins in.
  CHECK(ordered(equal, 3) == std::vector<std::uint64_t>{0, 30, 60, 10, 40, 70, 20, 50});
}

TEST_CASE("small chunks at the start come first, those at the end last") {
  CHECK(ordered({1, 2, 4, 8, 8, 8, 8, 8, 8, 3, 1}, 3) ==
        std::vector<std::uint64_t>{0, 1, 3, 23, 39, 7, 31, 47, 15, 55, 58});
  // Small ones between large ones are nothing special.
  CHECK(ordered({8, 2, 8, 8, 2, 8}, 2) == std::vector<std::uint64_t>{0, 18, 8, 26, 10, 28});
}

TEST_CASE("one region, none, and what cannot be divided stay in the order of the arena") {
  const auto sizes = ramped_sizes(20);
  CHECK(ordered(sizes, 0) == begins_of(chunks_of(sizes)));
  CHECK(ordered(sizes, 1) == begins_of(chunks_of(sizes)));
  CHECK(load::order_chunks({}, 4).empty());
  CHECK(ordered({5}, 4) == std::vector<std::uint64_t>{0});
  CHECK(ordered({1, 5, 1}, 4) == std::vector<std::uint64_t>{0, 1, 6});
  CHECK(ordered({1}, std::numeric_limits<std::uint32_t>::max()) == std::vector<std::uint64_t>{0});
}

TEST_CASE("every chunk is taken once, whatever is divided by whatever") {
  for (const std::size_t flat : {0u, 1u, 7u, 500u}) {
    for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{1} << 62}) {
      const auto chunks = chunks_of(ramped_sizes(flat), begin);
      for (const std::uint32_t regions :
           {1u, 2u, 3u, 16u, 31u, 499u, 1'000u, std::numeric_limits<std::uint32_t>::max()}) {
        CAPTURE(flat);
        CAPTURE(regions);
        auto taken = load::order_chunks(chunks, regions);
        REQUIRE(taken.size() == chunks.size());
        std::sort(taken.begin(), taken.end(), [](const ByteRange& left, const ByteRange& right) {
          return left.offset < right.offset;
        });
        for (std::size_t i = 0; i < chunks.size(); ++i) {
          REQUIRE(taken[i].offset == chunks[i].offset);
          REQUIRE(taken[i].size_bytes == chunks[i].size_bytes);
        }
      }
    }
  }
}

TEST_CASE("of a ramp only the large chunks are divided, into nearly equal regions") {
  constexpr std::size_t head = 7;  // smaller than half of the largest
  constexpr std::size_t tail = 5;
  const auto chunks = chunks_of(ramped_sizes(500));
  const auto begins = begins_of(chunks);
  for (const std::uint32_t regions : {2u, 5u, 16u}) {
    CAPTURE(regions);
    const auto taken = load::order_chunks(chunks, regions);
    const auto order = begins_of(taken);
    CHECK(std::equal(order.begin(), order.begin() + head, begins.begin()));
    CHECK(std::equal(order.end() - tail, order.end(), begins.end() - tail));
    // The first turn says where the regions begin; a chunk is of the last one before it.
    const std::vector<std::uint64_t> starts(order.begin() + head, order.begin() + head + regions);
    REQUIRE(std::is_sorted(starts.begin(), starts.end()));
    std::vector<std::uint64_t> reached(regions, 0);
    std::vector<std::uint64_t> bytes(regions, 0);
    for (auto chunk = taken.begin() + head; chunk != taken.end() - tail; ++chunk) {
      const auto next = std::upper_bound(starts.begin(), starts.end(), chunk->offset);
      const auto region = static_cast<std::size_t>(next - starts.begin()) - 1;
      const auto first = std::max(starts[region], reached[region]);
      CHECK(chunk->offset == first);
      reached[region] = chunk->end();
      bytes[region] += chunk->size_bytes;
    }
    const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
    CHECK(*most - *least < 2 * 800);
  }
}
