// SPDX-License-Identifier: MIT
#include "report/markup.hpp"

#include <doctest/doctest.h>

#include "sample.hpp"

using namespace hiptool::report;

TEST_CASE("nothing can leave an element or an attribute") {
  CHECK(markup_text("a<b>&\"'c") == "a&lt;b&gt;&amp;&quot;&#39;c");
  CHECK(attribute("x", "\"><script>") == " x=\"&quot;&gt;&lt;script&gt;\"");
  CHECK(is_safe(markup_text(hostile_name)));
  CHECK(markup_text(hostile_name).find('<') == std::string::npos);
}

TEST_CASE("what XML forbids is replaced") {
  CHECK(markup_text("a\x01\x0b\x1f") == "a\\x01\\x0B\\x1F");
  CHECK(markup_text("\xef\xbf\xbe|\xef\xbf\xbf") == "\xef\xbf\xbd|\xef\xbf\xbd");
  CHECK(markup_text("\xef\xbf\xbd\xef\xbb") == "\xef\xbf\xbd\\xEF\\xBB");
  CHECK(markup_text("\xed\xa0\x80") == "\\xED\\xA0\\x80");  // a surrogate
}

TEST_CASE("numbers are short") {
  CHECK(coordinate(12) == "12");
  CHECK(coordinate(12.5) == "12.5");
  CHECK(coordinate(100) == "100");
  CHECK(coordinate(0.126) == "0.13");
  CHECK(coordinate(-0.001) == "0");
  CHECK(short_size(64 << 10) == "64 KiB");
  CHECK(short_size(100) == "100 B");
  CHECK(short_size(1 << 20) == "1 MiB");
  CHECK(short_size(3 << 19) == "1.5 MiB");
  CHECK(short_size(10ull << 30) == "10 GiB");
}

TEST_CASE("elements") {
  CHECK(element("a", {at("x", 1.5)}) == "<a x=\"1.5\"/>\n");
  CHECK(element("a", {}, "t") == "<a>t</a>\n");
  CHECK(label(1, 2, "end", "<t>") == "<text x=\"1\" y=\"2\" class=\"end\">&lt;t&gt;</text>\n");
}
