// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "results/model/facts.hpp"

using namespace hiptool::results;

TEST_CASE("inspect: a text is cut to its columns, and its first line") {
  CHECK(shown_text("short", 10, true) == "short");
  CHECK(shown_text("one line\nand another", 40, true) == "one line …");
  CHECK(shown_text("one line\nand another", 40, false) == "one line ...");
  CHECK(shown_text("0123456789abc", 10, true) == "012345678…");
  const std::string accents = "e" + std::string(200, '\xcc') + "x";  // no code points
  CHECK(shown_text(accents, 4, false).size() <= 4 + 3);
  std::string letters;
  for (int i = 0; i < 100; ++i) letters += "é";
  CHECK(shown_text(letters, 5, true) == "éééé…");
}

TEST_CASE("inspect: of a text that is larger than memory only its start is looked at") {
  constexpr std::size_t size = std::size_t{1} << 40;
  void* const memory =
      mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const std::string shown = shown_text({static_cast<const char*>(memory), size}, 40, true);
  CHECK(shown.size() <= 40 + 2);
  CHECK(shown.ends_with("…"));
  munmap(memory, size);
}
