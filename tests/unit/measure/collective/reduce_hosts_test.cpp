// SPDX-License-Identifier: MIT
#include "measure/collective/reduce_hosts.hpp"

#include <doctest/doctest.h>

using hiptool::measure::judged_elements;

TEST_CASE("all elements of a few GPUs are compared, fewer of many") {
  constexpr std::uint64_t count = 8u << 20;
  CHECK(judged_elements(count, 4, 2) == count);
  CHECK(judged_elements(count, 1024, 8) == (1u << 15));
  CHECK(judged_elements(100, 1024, 8) == 100);
  CHECK(judged_elements(0, 2, 1) == 0);
  CHECK(judged_elements(count, 1u << 30, 8) == 1);
}
