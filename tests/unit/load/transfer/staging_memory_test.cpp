// SPDX-License-Identifier: MIT
#include "load/transfer/staging_memory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <vector>

using namespace hiptool;
using namespace hiptool::load;

TEST_CASE("staging memory: each block is given once, to requests of at most its size") {
  StagingMemory memory(3, 5000);
  CHECK_FALSE(memory.take(5001));
  std::vector<HostMemory> taken;
  std::set<const std::byte*> addresses;
  for (const std::size_t wanted : {5000u, 4096u, 1u}) {
    auto block = memory.take(wanted);
    REQUIRE(block);
    CHECK(block->size_bytes() == 5000);
    addresses.insert(block->data());
    taken.push_back(std::move(*block));
  }
  CHECK(addresses.size() == 3);
  CHECK_FALSE(memory.take(5000));
}

TEST_CASE("staging memory: none, too much, and gone before it is made") {
  StagingMemory none(0, 4096);
  CHECK_FALSE(none.take(4096));
  StagingMemory too_much(1, std::size_t{1} << 60);
  CHECK_FALSE(too_much.take(std::size_t{1} << 60));
  StagingMemory much(1'000'000, 2u << 20);  // 2 TB, more than can be made
  CHECK(much.take(1));                      // it is under way when it is ended
}
