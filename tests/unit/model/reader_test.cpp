// SPDX-License-Identifier: MIT
#include "model/reader.hpp"

#include <doctest/doctest.h>

#include "builders.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::test;

TEST_CASE("the window follows the cursor over any mix of reads and skips") {
  Bytes bytes;
  for (std::uint32_t number = 0; number < 3'000'000; ++number) bytes.u32(number);
  const TemporaryFile temporary(bytes.data());
  const base::File file = base::File::open(temporary.path());
  model::Reader reader(file);
  std::uint32_t step = 1;
  while (reader.has(4)) {
    const std::uint64_t position = reader.position();
    CHECK(reader.take<std::uint32_t>() == position / 4);
    step = step * 7 % 1001;
    if (reader.has(std::uint64_t{step} * 4)) reader.skip(std::uint64_t{step} * 4);
  }
  CHECK(reader.remaining() == 0);
  CHECK_THROWS_AS(reader.peek(1), Error);
  CHECK_THROWS_AS(reader.skip(1), Error);
  CHECK_THROWS_AS(reader.take_text(1), Error);
}

TEST_CASE("a text longer than the window") {
  const std::string text = std::string(3u << 20, 'a') + std::string(3u << 20, 'b');
  const TemporaryFile temporary("12" + text + "3");
  const base::File file = base::File::open(temporary.path());
  model::Reader reader(file);
  reader.skip(2);
  CHECK(reader.take_text(text.size()) == text);
  CHECK(reader.take_text(1) == "3");
  CHECK(reader.take_text(0).empty());
}
