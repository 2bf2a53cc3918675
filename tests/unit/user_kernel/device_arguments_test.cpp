// SPDX-License-Identifier: MIT
#include "user_kernel/device_arguments.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace hiptool::user_kernel;

TEST_CASE("poison differs in every byte of two repeats, and depends on seed, place and repeat") {
  const KernelArgument argument = parse_kernel_argument("buf:u8:1003:poison");
  CHECK(argument.is_poison);
  std::set<std::vector<std::byte>> seen;
  for (const std::uint64_t seed : {1u, 2u}) {
    for (const std::uint64_t repeat : {0u, 1u, 2u, 3u}) {
      const auto bytes = initial_contents(argument, seed, repeat);
      REQUIRE(bytes.size() == 1003);
      CHECK(initial_contents(argument, seed, repeat) == bytes);
      seen.insert(bytes);
      if (repeat % 2 == 0) continue;
      const auto before = initial_contents(argument, seed, repeat - 1);
      bool differs = true;
      for (std::size_t i = 0; i < bytes.size(); ++i) differs = differs && bytes[i] == ~before[i];
      CHECK(differs);
    }
  }
  CHECK(seen.size() == 8);
  const auto one = initial_contents(argument, 1, 0);
  CHECK(std::set<std::byte>(one.begin(), one.end()).size() > 200);
  const KernelArgument given = parse_kernel_argument("buf:u8:4:iota");
  CHECK(initial_contents(given, 1, 1) == given.bytes);
}
