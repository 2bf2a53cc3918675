// SPDX-License-Identifier: MIT
#include "base/suggest.hpp"

#include <doctest/doctest.h>

using namespace hiptool::base;

TEST_CASE("edit distance counts a swap of neighbours once") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("load", "load") == 0);
  CHECK(edit_distance("laod", "load") == 1);
  CHECK(edit_distance("lod", "load") == 1);
  CHECK(edit_distance("loads", "load") == 1);
  CHECK(edit_distance("lead", "load") == 1);
  CHECK(edit_distance("abcd", "wxyz") == 4);
}

TEST_CASE("the nearest word, or the only one that it begins") {
  const std::vector<std::string> words{"devices", "load", "make-model", "bench-copy"};
  CHECK(nearest("device", words) == "devices");
  CHECK(nearest("devcies", words) == "devices");
  CHECK(nearest("bench", words) == "bench-copy");
  CHECK(nearest("mk-model", words) == "make-model");
  CHECK_FALSE(nearest("fly", words));
  CHECK_FALSE(nearest("", words));
  CHECK_FALSE(nearest("x", words));
  CHECK_FALSE(nearest("be", {"begin", "bench"}));
  CHECK_FALSE(nearest("load", {}));
  const std::vector<std::string> kernels{"read", "stream-copy", "stream-triad", "memtest-random"};
  CHECK(nearest("triad", kernels) == "stream-triad");
  CHECK(nearest("random", kernels) == "memtest-random");
  CHECK(nearest("red", kernels) == "read");
  CHECK_FALSE(nearest("stream", kernels));
  CHECK(nearest("--golden", {"--grid", "--write-golden"}) == "--write-golden");
  CHECK(nearest("architecture", {"general.name", "general.architecture"}) ==
        "general.architecture");
  CHECK(nearest("ad", {"add", "grouped-ad"}) == "add");
  // Other digits are another type.
  const std::vector<std::string> types{"f16", "f32", "q8_0", "q4_0"};
  CHECK(nearest("fp16", types) == "f16");
  CHECK(nearest("q80", types) == "q8_0");
  CHECK(nearest("q8", types) == "q8_0");
  CHECK_FALSE(nearest("tq3_0", types));
  CHECK_FALSE(nearest("q6_0", types));
  CHECK(nearest("sha265", {"sha256"}) == "sha256");
}

TEST_CASE("a suggestion is a question or nothing") {
  CHECK(suggestion("lod", {"load"}) == "did you mean 'load'?");
  CHECK(suggestion("zebra", {"load"}).empty());
}
