// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <doctest/doctest.h>

using hiptool::base::equals_ignoring_case;
using hiptool::base::one_line_of;
using hiptool::base::range_of;

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
  CHECK(hiptool::base::plain_count_of(0, "byte") == "0 bytes");
  CHECK(hiptool::base::plain_count_of(1, "byte") == "1 byte");
  CHECK(hiptool::base::plain_count_of(4096, "byte") == "4096 bytes");
}

TEST_CASE("a range has its unit once; ends that look alike are one value") {
  CHECK(range_of("48.1 GB/s", "55.0 GB/s") == "48.1 to 55.0 GB/s");
  CHECK(range_of("990 MB/s", "1.01 GB/s") == "990 MB/s to 1.01 GB/s");
  CHECK(range_of("55.3 GB/s", "55.3 GB/s") == "55.3 GB/s");
  CHECK(range_of("3", "12") == "3 to 12");
  CHECK(range_of("1 096", "4 096") == "1 096 to 4 096");
  CHECK(range_of("1 024 MiB", "1 536 MiB") == "1 024 to 1 536 MiB");
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

TEST_CASE("text input loses its byte order mark, and UTF-16 becomes UTF-8") {
  using hiptool::base::decode_text;
  using namespace std::string_literals;
  CHECK(decode_text("").empty());
  CHECK(decode_text("a\xEF\xBB\xBF") == "a\xEF\xBB\xBF");  // a mark is at the start only
  CHECK(decode_text("\xEF\xBB\xBF") == "");
  CHECK(decode_text("\xEF\xBB\xBF\xC3\xA9\r\n") == "\xC3\xA9\r\n");
  CHECK(decode_text("\xFF\xFE"s) == "");
  CHECK(decode_text("\xFF\xFE"
                    "a\0\xE9\0\xAC\x20"s) == "a\xC3\xA9\xE2\x82\xAC");
  CHECK(decode_text("\xFE\xFF"
                    "\0a\x20\xAC"s) == "a\xE2\x82\xAC");
  CHECK(decode_text("\xFF\xFE\x3D\xD8\x00\xDE"s) == "\xF0\x9F\x98\x80");  // a pair of units
  // Half a pair or half a unit is replaced.
  CHECK(decode_text("\xFF\xFE\x3D\xD8"
                    "a\0"s) ==
        "\xEF\xBF\xBD"
        "a");
  CHECK(decode_text("\xFF\xFE\x00\xDE"s) == "\xEF\xBF\xBD");
  CHECK(decode_text("\xFF\xFE"
                    "a\0b"s) == "a\xEF\xBF\xBD");
}

TEST_CASE("words of a shell are quoted where they need it") {
  using hiptool::base::quoted_for_shell;
  CHECK(quoted_for_shell("/a/b-c_1.gguf") == "/a/b-c_1.gguf");
  CHECK(quoted_for_shell("a b") == "'a b'");
  CHECK(quoted_for_shell("it's") == "'it'\\''s'");
  CHECK(quoted_for_shell("$(x)") == "'$(x)'");
  CHECK(quoted_for_shell("") == "''");
}

TEST_CASE("natural order counts as people do") {
  using hiptool::base::is_natural_before;
  const std::vector<std::string> ordered{"",          "a",      "node",    "node1",
                                         "node2",     "node10", "node10a", "node10b2",
                                         "node10b10", "x07",    "x7",      "x8"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      CHECK_MESSAGE(is_natural_before(ordered[i], ordered[j]) == (i < j), ordered[i], ordered[j]);
    }
  }
  // Longer than any integer type.
  CHECK(is_natural_before("n99999999999999999999998", "n99999999999999999999999"));
}

TEST_CASE("names with consecutive numbers are ranges") {
  using hiptool::base::ranges_of;
  CHECK(ranges_of({}).empty());
  CHECK(ranges_of({"machine"}) == "machine");
  CHECK(ranges_of({"amd:1", "amd:0", "amd:1"}) == "amd:0-1");
  CHECK(ranges_of({"amd:0", "amd:1", "amd:2", "amd:4", "nvidia:5"}) == "amd:0-2, amd:4, nvidia:5");
  CHECK(ranges_of({"node9", "node10", "node11"}) == "node9-11");
  CHECK(ranges_of({"node09", "node10", "node011"}) == "node09-10, node011");
  CHECK(ranges_of({"n18446744073709551615", "n18446744073709551616"}) ==
        "n18446744073709551615, n18446744073709551616");
}
