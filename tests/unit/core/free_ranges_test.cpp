// SPDX-License-Identifier: MIT
#include "core/free_ranges.hpp"

#include <doctest/doctest.h>

#include <vector>

using hiptool::core::FreeRanges;

namespace {

constexpr std::uint64_t base = 0x10'0000;

}  // namespace

TEST_CASE("the smallest range that can hold a block is taken, the lowest among equals") {
  FreeRanges ranges(base, 16 * 256);
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(ranges.take(256, 256).value());
  CHECK(ranges.count() == 0);
  CHECK(ranges.largest_bytes() == 0);
  CHECK_FALSE(ranges.take(256, 256).has_value());
  // free: 1-3 (three), 6-7 (two), 10-11 (two), 14 (one)
  for (const std::size_t i : {1u, 2u, 3u, 6u, 7u, 10u, 11u, 14u}) ranges.give_back(blocks[i]);
  CHECK(ranges.count() == 4);
  CHECK(ranges.largest_bytes() == 3 * 256);
  CHECK(ranges.take(2 * 256, 256) == 6 * 256);
  CHECK(ranges.take(256, 256) == 14 * 256);
  CHECK(ranges.take(256, 256) == 10 * 256);
  CHECK(ranges.take(2 * 256, 256) == 1 * 256);
  CHECK_FALSE(ranges.take(2 * 256, 256).has_value());
}

TEST_CASE("free neighbours are merged on either side, on both and on none") {
  FreeRanges ranges(base, 5 * 256);
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(ranges.take(256, 256).value());
  ranges.give_back(blocks[0]);
  ranges.give_back(blocks[2]);
  CHECK(ranges.count() == 2);
  ranges.give_back(blocks[3]);  // free before it
  CHECK(ranges.count() == 2);
  CHECK(ranges.largest_bytes() == 2 * 256);
  ranges.give_back(blocks[1]);  // free on both sides
  CHECK(ranges.count() == 1);
  CHECK(ranges.largest_bytes() == 4 * 256);
  ranges.give_back(blocks[4]);
  CHECK(ranges.largest_bytes() == 5 * 256);
  CHECK(ranges.take(5 * 256, 256) == 0u);
  ranges.give_back(0);
  CHECK(ranges.take(256, 256) == 0u);
  ranges.give_back(0);  // free behind it
  CHECK(ranges.count() == 1);
}

TEST_CASE("alignment applies to addresses, and the gap before a block stays free") {
  FreeRanges ranges(base + 256, 4096);
  const auto block = ranges.take(512, 1024);
  CHECK(block == 768u);  // base + 1024
  CHECK(ranges.count() == 2);
  CHECK(ranges.take(768, 256) == 0u);
  CHECK(ranges.count() == 1);
  ranges.give_back(*block);
  ranges.give_back(0);
  CHECK(ranges.count() == 1);
  CHECK(ranges.largest_bytes() == 4096);
  CHECK(ranges.take(256, 4096) == 3840u);  // the very last one
  CHECK_FALSE(ranges.take(512, 1u << 21).has_value());
}

TEST_CASE("an empty memory has no free range") {
  FreeRanges ranges(0, 0);
  CHECK(ranges.count() == 0);
  CHECK_FALSE(ranges.take(256, 256).has_value());
}
