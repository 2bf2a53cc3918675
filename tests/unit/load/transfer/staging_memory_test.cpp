// SPDX-License-Identifier: MIT
#include "load/transfer/staging_memory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <thread>
#include <vector>

using namespace hiptool;
using namespace hiptool::load;

namespace {

std::optional<HostMemory> take_soon(StagingMemory& memory, std::size_t size_bytes) {
  for (int i = 0; i < 2000; ++i) {
    if (auto taken = memory.take(size_bytes)) return taken;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("staging memory: each slot is given once, and only to who wants its size") {
  StagingMemory memory(3, 5000);
  std::vector<HostMemory> taken;
  std::set<const std::byte*> addresses;
  for (int i = 0; i < 3; ++i) {
    auto slot = take_soon(memory, 5000);
    REQUIRE(slot);
    CHECK(slot->size_bytes() == 5000);
    addresses.insert(slot->data());
    taken.push_back(std::move(*slot));
    CHECK_FALSE(memory.take(4096));
  }
  CHECK(addresses.size() == 3);
  CHECK_FALSE(memory.take(5000));
}

TEST_CASE("staging memory: none, too much, and gone before it is made") {
  StagingMemory none(0, 4096);
  CHECK_FALSE(none.take(4096));
  StagingMemory too_much(1, std::size_t{1} << 60);
  CHECK_FALSE(too_much.take(std::size_t{1} << 60));
  const auto start = std::chrono::steady_clock::now();
  { const StagingMemory much(1'000'000, 2u << 20); }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}
