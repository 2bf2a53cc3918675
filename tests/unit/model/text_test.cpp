// SPDX-License-Identifier: MIT
#include "model/text.hpp"

#include <doctest/doctest.h>

#include "model/checked.hpp"

using namespace hiptool::model;

TEST_CASE("UTF-8 is told from what is not") {
  for (const char* text : {"", "abc", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CHECK_MESSAGE(is_utf8(text), text);
  }
  for (const char* text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\x80", "\xed\xa0\x80", "\xe1\x80",
        "\xf0\x8f\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf1\x80\x80", "\xff"}) {
    CHECK_FALSE_MESSAGE(is_utf8(text), in_quotes(text));
  }
}

TEST_CASE("names are made fit for one line") {
  CHECK(in_quotes("blk.0") == "'blk.0'");
  CHECK(in_quotes("a\nb\x7f\xff") == "'a\\x0ab\\x7f\\xff'");
  CHECK(in_quotes("\xc3\xa9") == "'\xc3\xa9'");
  CHECK(in_quotes(std::string(200, 'n')) == "'" + std::string(100, 'n') + "...'");
}

TEST_CASE("sums and products that do not fit are nothing") {
  CHECK(checked_add(UINT64_MAX - 1, 1) == UINT64_MAX);
  CHECK_FALSE(checked_add(UINT64_MAX, 1).has_value());
  CHECK(checked_multiply(1u << 31, 2) == std::uint64_t{1} << 32);
  CHECK_FALSE(checked_multiply(std::uint64_t{1} << 32, std::uint64_t{1} << 32).has_value());
  CHECK(checked_align(33, 32) == 64);
  CHECK(checked_align(32, 32) == 32);
  CHECK_FALSE(checked_align(UINT64_MAX, 32).has_value());
}
