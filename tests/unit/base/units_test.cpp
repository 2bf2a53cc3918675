// SPDX-License-Identifier: MIT
#include "base/units.hpp"

#include <doctest/doctest.h>

#include "hiptool/error.hpp"

using namespace hiptool;

TEST_CASE("sizes: binary, decimal, fractions and plain bytes") {
  CHECK(parse_size("64MiB") == 64u << 20);
  CHECK(parse_size("64M") == 64u << 20);
  CHECK(parse_size("64m") == 64u << 20);
  CHECK(parse_size("64 MiB") == 64u << 20);
  CHECK(parse_size("64MB") == 64'000'000);
  CHECK(parse_size("1.5GiB") == 1'610'612'736);
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("512B") == 512);
  CHECK(parse_size("9223372036854775807") == 9223372036854775807u);
}

TEST_CASE("sizes that are refused name the accepted forms") {
  for (const char* text :
       {"", "-1", "-0", "x", "1.5", "1.5B", "12xyz", "1e3", "9223372036854775808", "99999999TiB",
        "nan", "inf", "64  M", " 1", "+1", "0x10", "M"}) {
    CAPTURE(text);
    try {
      parse_size(text);
      FAIL("was accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK(error.hint().find("64MiB") != std::string::npos);
    }
  }
}

TEST_CASE("lists and ranges of sizes") {
  CHECK(parse_sizes("4K,1M") == std::vector<std::uint64_t>{4096, 1 << 20});
  CHECK(parse_sizes("1KiB..4KiB") == std::vector<std::uint64_t>{1024, 2048, 4096});
  CHECK(parse_sizes("3..5") == std::vector<std::uint64_t>{3, 5});
  CHECK_THROWS_AS(parse_sizes("4K..1K"), Error);
  CHECK_THROWS_AS(parse_sizes("4K,"), Error);
  CHECK_THROWS_AS(parse_sizes("0..4K"), Error);
}

TEST_CASE("formatting keeps three digits and never overflows its unit") {
  CHECK(format_size(0) == "0 B");
  CHECK(format_size(1023) == "1023 B");
  CHECK(format_size(1536) == "1.50 KiB");
  CHECK(format_size((1u << 20) - 1) == "1.00 MiB");
  CHECK(format_size(13ull << 30) == "13.0 GiB");
  CHECK(format_rate(52.44e9) == "52.4 GB/s");
  CHECK(format_rate(999.9e6) == "1.00 GB/s");
  CHECK(format_duration(1.236) == "1.24 s");
  CHECK(format_duration(0.0873) == "87.3 ms");
  CHECK(format_duration(12e-6) == "12.0 us");
  CHECK(format_duration(0.99999) == "1.00 s");
  CHECK(format_share(0.974) == "97 %");
  CHECK(shortfall_text(0.12) == "12 % below");
  CHECK(shortfall_text(0.994) == "99 % below");
  CHECK(shortfall_text(1 - 1 / 16000.0) == "1/16000 of");
  CHECK(shortfall_text(1 - 1 / 16384.0) == "1/16000 of");
  CHECK(shortfall_text(0.995) == "1/200 of");
  CHECK(shortfall_text(1) == "nothing of");
  CHECK(format_count(131072) == "131 072");
  CHECK(format_count(999) == "999");
}
