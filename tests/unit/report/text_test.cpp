// SPDX-License-Identifier: MIT
#include "report/text.hpp"

#include <doctest/doctest.h>

using namespace hiptool::report;

using Lines = std::vector<std::string>;

TEST_CASE("printable: what could steer a terminal becomes \\xNN") {
  CHECK(printable("blk.0.attn_q.weight") == "blk.0.attn_q.weight");
  CHECK(printable("größe 漢字 –") == "größe 漢字 –");
  CHECK(printable("\x1b[31m") == "\\x1B[31m");
  CHECK(printable("a\nb\tc\x7f") == "a\\x0Ab\\x09c\\x7F");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xc2\x9b") == "\\xC2\\x9B");           // C1 control sequence introducer
  CHECK(printable("\xe2\x80\xae") == "\\xE2\\x80\\xAE");  // right-to-left override
  CHECK(printable("\xff\xfe") == "\\xFF\\xFE");
  CHECK(printable("\xc0\xaf") == "\\xC0\\xAF");                    // overlong "/"
  CHECK(printable("\xe0\x80\xaf") == "\\xE0\\x80\\xAF");           // overlong "/"
  CHECK(printable("\xed\xa0\x80") == "\\xED\\xA0\\x80");           // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");  // past U+10FFFF
  CHECK(printable("\xe6\xbc") == "\\xE6\\xBC");                    // cut off
  CHECK(printable(printable("\x1b\xff")) == printable("\x1b\xff"));
}

TEST_CASE("printable lines: safe, and not too long") {
  CHECK(printable_lines("a\x1b[31mb\nc\x7f\t") == "a\\x1B[31mb\nc\\x7F\\x09");
  CHECK(printable_lines("a\xc2\x9b"
                        "31m\xe2\x80\xae"
                        "b\xff\n\n") == "a\\xC2\\x9B31m\\xE2\\x80\\xAEb\\xFF\n\n");
  CHECK(printable_lines("größer") == "größer");
  // Cut before the character that the limit falls into.
  CHECK(printable_lines("größer", 3) == "gr...");
  CHECK(printable_lines("größer", 4) == "grö...");
  CHECK(printable_lines(std::string(60'000, 'x')).size() == most_line_bytes + 3);
  std::string lines;
  for (int i = 0; i < 1'000'000; ++i) lines += "line\n";
  CHECK(printable_lines(lines).size() == most_text_bytes + 3);
}

TEST_CASE("a list of words ends in and") {
  CHECK(and_list({}).empty());
  CHECK(and_list({"amd:0"}) == "amd:0");
  CHECK(and_list({"amd:0", "amd:1"}) == "amd:0 and amd:1");
  CHECK(and_list({"amd:0", "amd:1", "amd:2"}) == "amd:0, amd:1 and amd:2");
}

TEST_CASE("display width counts columns, not bytes") {
  CHECK(display_width("") == 0);
  CHECK(display_width("abc") == 3);
  CHECK(display_width("größe") == 5);
  CHECK(display_width("e\xcc\x81") == 1);  // combining acute accent
  CHECK(display_width("漢字") == 4);
  CHECK(display_width("ｶ") == 1);                 // half-width katakana
  CHECK(display_width("\xf0\x9f\x98\x80") == 2);  // U+1F600
  CHECK(display_width("–") == 1);
}

TEST_CASE("shorten cuts after a figure, or else after a word, never inside a letter") {
  CHECK(shorten("h2d 55.3 GB/s, d2h 54.9 GB/s", 28) == "h2d 55.3 GB/s, d2h 54.9 GB/s");
  CHECK(shorten("h2d 55.3 GB/s, d2h 54.9 GB/s", 27) == "h2d 55.3 GB/s, ...");
  CHECK(shorten("logits within a bound of four", 24) == "logits within a ...");
  CHECK(shorten("abcdefghijklmnopqrstuvwxyz", 20) == "abcdefghijklmno ...");
  for (std::size_t width = 8; width < 30; ++width) {
    CAPTURE(width);
    const std::string text = shorten("größte Länge äöüäöüäöüäöüäöüäöüäöü", width);
    CHECK(display_width(text) <= width);
    CHECK(printable(text) == text);
  }
}

TEST_CASE("wrap breaks at blanks, cuts only what is longer than a line, loses no letter") {
  CHECK(wrap("", 10, 2) == Lines{""});
  CHECK(wrap("one two", 10, 2) == Lines{"one two"});
  CHECK(wrap("one two three", 7, 2) == Lines{"one two", "  three"});
  CHECK(wrap("one two three", 8, 2) == Lines{"one two", "  three"});
  CHECK(wrap("abcdefghijkl", 5, 2) == Lines{"abcde", "  fgh", "  ijk", "  l"});
  CHECK(wrap("ids 1,20,300,4,50", 9, 2) == Lines{"ids 1,20,", "  300,4,", "  50"});
  CHECK(wrap("ids 1,20,30", 9, 2) == Lines{"ids", "  1,20,30"});
  CHECK(wrap("all@nvidia:0+nvidia:1+nvidia:2", 17, 2) ==
        Lines{"all@nvidia:0+", "  nvidia:1+", "  nvidia:2"});
  CHECK(wrap("copy@amd:0>amd:1", 12, 0) == Lines{"copy@amd:0>", "amd:1"});
  CHECK(wrap("1234,5", 3, 0) == Lines{"123", "4,5"});
  CHECK(wrap("a bcdefghi", 4, 0) == Lines{"a", "bcde", "fghi"});
  CHECK(wrap("  indented text", 10, 4) == Lines{"  indented", "    text"});
  CHECK(wrap("tail   ", 10, 0) == Lines{"tail"});
  CHECK(wrap("median 11.4 GB/s and", 14, 0) == Lines{"median", "11.4 GB/s and"});
  CHECK(wrap("took 1.5 s, then", 9, 0) == Lines{"took", "1.5 s,", "then"});
  CHECK(wrap("wrote Xid 121 to the", 14, 0) == Lines{"wrote Xid 121", "to the"});
  CHECK(wrap("up to 1 024 of", 8, 0) == Lines{"up to", "1 024 of"});
  CHECK(wrap("11.4 GB/s < 20 GB/s", 12, 0) == Lines{"11.4 GB/s", "< 20 GB/s"});
  CHECK(wrap("0 1 0 1", 3, 0) == Lines{"0 1", "0 1"});
  CHECK(wrap("100 200 300", 8, 0) == Lines{"100 200", "300"});
  CHECK(wrap("12345 tokens", 6, 0) == Lines{"12345", "tokens"});
  CHECK(wrap("漢字漢字", 5, 0) == Lines{"漢字", "漢字"});
  CHECK(wrap("e\xcc\x81"
             "e\xcc\x81",
             1, 0) == Lines{"e\xcc\x81", "e\xcc\x81"});
  CHECK(wrap("abc", 0, 0) == Lines{"a", "b", "c"});
  CHECK(wrap("abc", 1, 4).size() == 3);
}
