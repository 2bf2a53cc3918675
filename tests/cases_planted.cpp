// SPDX-License-Identifier: MIT
/// Planted cases for cases_test.py; run alone, this program fails.
#include <doctest/doctest.h>

#include <array>

#include "cases.hpp"

namespace {

TEST_CASE("planted: asserts") { CHECK(1 + 1 == 2); }
TEST_CASE("planted: asserts in a subcase only") {
  SUBCASE("one") { CHECK(1 + 1 == 2); }
  SUBCASE("two") {}
}
TEST_CASE("planted: skips") { hiptool::test::skip_case("no such device: amd:7"); }
TEST_CASE("planted: throws") { throw 1; }

TEST_CASE("planted: is empty") {}
TEST_CASE("planted: only prints") { MESSAGE("skipped: this is not how to skip"); }
TEST_CASE("planted: loops over nothing") {
  for (const int number : std::array<int, 0>{}) CHECK(number == 1);
}
TEST_CASE("planted: returns early after one that skipped") {
  if (doctest::is_running_in_test) return;
  CHECK(false);
}

}  // namespace
