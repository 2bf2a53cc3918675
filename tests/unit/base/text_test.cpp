// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <doctest/doctest.h>

using hiptool::base::equals_ignoring_case;
using hiptool::base::one_line_of;

TEST_CASE("only the case of ASCII letters is ignored") {
  CHECK(equals_ignoring_case("", ""));
  CHECK(equals_ignoring_case("GPU-0aZ", "gpu-0Az"));
  CHECK_FALSE(equals_ignoring_case("a", "aa"));
  CHECK_FALSE(equals_ignoring_case("aa", "a"));
  CHECK_FALSE(equals_ignoring_case("@", "`"));  // 32 apart, like letters, but none
  CHECK_FALSE(equals_ignoring_case("[", "{"));
}

TEST_CASE("numbers in hexadecimal keep their leading zeros") {
  CHECK(hiptool::base::to_hex(0) == "0000000000000000");
  CHECK(hiptool::base::to_hex(0x0123456789ABCDEF) == "0123456789abcdef");
  CHECK(hiptool::base::to_hex(~std::uint64_t{0}) == "ffffffffffffffff");
}

TEST_CASE("only decimal digits are digits, and nothing is none") {
  for (const char* text : {"0", "7", "0123456789"}) CHECK(hiptool::base::is_all_digits(text));
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "0x1", "1a"}) {
    CHECK_FALSE(hiptool::base::is_all_digits(text));
  }
}

TEST_CASE("one is one thing, every other count several") {
  CHECK(hiptool::base::count_of(0, "tensor") == "0 tensors");
  CHECK(hiptool::base::count_of(1, "tensor") == "1 tensor");
  CHECK(hiptool::base::count_of(4096, "tensor") == "4 096 tensors");
}

TEST_CASE("a message with a compiler's output becomes one line that has the reason") {
  CHECK(one_line_of("") == "");
  CHECK(one_line_of("hipMalloc: no memory") == "hipMalloc: no memory");
  CHECK(one_line_of("failed:\n") == "failed");
  CHECK(one_line_of("the process ended with exit code 6\n"
                    "error: hipRTC could not compile 'k': HIPRTC_ERROR_COMPILATION (6)\n"
                    "  In file included from k.hip:1:\n"
                    "  k.hip:3:5: error: unknown type name 'x'\n"
                    "  k.hip:4:5: error: another\nhint: try this") ==
        "the process ended with exit code 6: k.hip:3:5: error: unknown type name 'x'");
  CHECK(one_line_of("the process ended with exit code 6\n\n"
                    "error: hipRTC is not installed\nhint: install it\n") ==
        "the process ended with exit code 6: hipRTC is not installed");
  CHECK(one_line_of("it was ended by signal 6\nfree(): invalid size\r\nsecond:\nthird") ==
        "it was ended by signal 6: free(): invalid size: second");
}
