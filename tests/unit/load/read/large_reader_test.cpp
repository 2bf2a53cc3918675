// SPDX-License-Identifier: MIT
#include "load/read/large_reader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support.hpp"
#include "unit/load/read/plain_file.hpp"

using namespace hiptool;
using load::LargeReader;

namespace {

constexpr std::uint64_t small_block_bytes = 64u << 10;

struct LargeReaderFixture : test::PlainFile {
  LargeReader::Range range(std::uint64_t offset, std::uint64_t size_bytes) const {
    return {descriptor, {offset, size_bytes}, offset + size_bytes};
  }

  // Whether the range arrives whole.
  bool is_right(LargeReader& reader, std::uint64_t offset, std::uint64_t size_bytes) const {
    std::vector<std::byte> got(size_bytes);
    const auto result = reader.read(
        range(offset, size_bytes),
        [&](std::uint64_t at, std::span<const std::byte> bytes) {
          std::memcpy(got.data() + (at - offset), bytes.data(), bytes.size());
        },
        [] {});
    return result.error == 0 && result.reached_wanted &&
           std::equal(got.begin(), got.end(),
                      contents.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  // Whether a byte of the block, which arrives, is read from the file for this.
  bool reads(LargeReader& reader, std::uint64_t block) const {
    const std::uint64_t before = test::requested_bytes();
    CHECK(is_right(reader, block * small_block_bytes, 1));
    return test::requested_bytes() - before >= small_block_bytes;
  }
};

}  // namespace

TEST_CASE_FIXTURE(LargeReaderFixture, "large reader: every range arrives, up to the file's end") {
  LargeReader reader(small_block_bytes, 2);
  CHECK(is_right(reader, 0, 1'000'003));
  CHECK(is_right(reader, 999'000, 1'003));
  CHECK(is_right(reader, small_block_bytes - 1, 2));
  CHECK(is_right(reader, small_block_bytes, small_block_bytes));
  CHECK(is_right(reader, 5, 0));
}

TEST_CASE_FIXTURE(LargeReaderFixture, "large reader: a block is read once for all who want it") {
  if (test::requested_bytes() == 0) return test::skip_case(test::no_read_counts);
  LargeReader reader(small_block_bytes, 4);
  CHECK(reads(reader, 0));
  const std::uint64_t before = test::requested_bytes();
  for (std::uint64_t at = 100; at < small_block_bytes; at += 1000) {
    CHECK(is_right(reader, at, std::min<std::uint64_t>(1000, small_block_bytes - at)));
  }
  CHECK(test::requested_bytes() - before < small_block_bytes);
  CHECK(reads(reader, 1));
}

TEST_CASE_FIXTURE(LargeReaderFixture, "large reader: a block that was taken makes room first") {
  if (test::requested_bytes() == 0) return test::skip_case(test::no_read_counts);
  LargeReader reader(small_block_bytes, 2);
  CHECK(is_right(reader, 0, 100));
  CHECK(is_right(reader, small_block_bytes, small_block_bytes));  // used later, but whole
  CHECK(reads(reader, 2));                                        // in its place
  CHECK_FALSE(reads(reader, 0));
  CHECK_FALSE(reads(reader, 2));
  CHECK(reads(reader, 1));  // none is whole: block 0 was unused for longest
  CHECK_FALSE(reads(reader, 2));
  CHECK(reads(reader, 0));
}

TEST_CASE_FIXTURE(LargeReaderFixture, "large reader: threads in any order, more than blocks") {
  LargeReader reader(small_block_bytes, 2);
  std::atomic<std::uint64_t> next{0};
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t at = next.fetch_add(9'973); at < contents.size();
           at = next.fetch_add(9'973)) {
        const std::uint64_t begin = contents.size() - 1 - at;  // from the end to the start
        const std::uint64_t size_bytes = std::min<std::uint64_t>(9'973, contents.size() - begin);
        if (!is_right(reader, begin, size_bytes)) ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE_FIXTURE(LargeReaderFixture, "large reader: the end of a file and errors have a place") {
  LargeReader reader(small_block_bytes, 2);
  std::uint64_t got_bytes = 0;
  const auto count = [&](std::uint64_t, std::span<const std::byte> bytes) {
    got_bytes += bytes.size();
  };
  auto result = reader.read(range(990'000, 20'000), count, [] {});
  CHECK_FALSE(result.reached_wanted);
  CHECK(result.error == 0);
  CHECK(result.read_end == 1'000'003);
  CHECK(got_bytes == 10'003);
  LargeReader::Range bad = range(small_block_bytes, 10);
  bad.descriptor = -1;
  result = LargeReader(small_block_bytes, 1).read(bad, count, [] {});
  CHECK(result.error == EBADF);
  CHECK(result.read_end == small_block_bytes);
}

TEST_CASE_FIXTURE(LargeReaderFixture, "large reader: an exception of a caller frees its block") {
  LargeReader reader(small_block_bytes, 1);
  const auto refuse = [](std::uint64_t, std::span<const std::byte>) {
    throw std::runtime_error("no");
  };
  CHECK_THROWS(reader.read(range(0, 10), refuse, [] {}));
  const auto ignore = [](std::uint64_t, std::span<const std::byte>) {};
  CHECK_THROWS(reader.read(range(0, 10), ignore, [] { throw std::runtime_error("ended"); }));
  CHECK(is_right(reader, 3 * small_block_bytes, 1000));
}

TEST_CASE_FIXTURE(LargeReaderFixture,
                  "large reader: who ends before the read leaves it to others") {
  LargeReader reader(small_block_bytes, 4);
  int checks = 0;
  // The second call comes when the block is its own to read.
  const auto end_then = [&] {
    if (++checks == 2) throw std::runtime_error("ended");
  };
  const auto ignore = [](std::uint64_t, std::span<const std::byte>) {};
  CHECK_THROWS(reader.read(range(100, 10), ignore, end_then));
  CHECK(is_right(reader, 100, 10));
  // While others wait for the same block.
  for (int round = 0; round < 200; ++round) {
    LargeReader shared(small_block_bytes, 2);
    std::atomic<int> right{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] { right += is_right(shared, 0, 2 * small_block_bytes) ? 1 : 0; });
    }
    int calls = 0;
    try {
      shared.read(range(0, 2 * small_block_bytes), ignore, [&] {
        if (++calls == 2) throw std::runtime_error("ended");
      });
    } catch (const std::runtime_error&) {
    }
    threads.clear();
    CHECK(right == 3);
  }
}
