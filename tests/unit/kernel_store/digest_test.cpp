// SPDX-License-Identifier: MIT
#include "kernel_store/digest.hpp"

#include <doctest/doctest.h>
#include <xxhash.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "hip/cpu/kernel_table.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "support.hpp"

using namespace hiptool;
using kernel_store::BlockDigester;
using kernel_store::DigestRange;
using kernel_store::DigestTable;

namespace {

constexpr std::size_t digest_block_bytes = 16384;
constexpr std::byte untouched{0x5A};
constexpr std::uint64_t untouched_digest = 0x5A5A5A5A5A5A5A5Au;

std::optional<Error> digest_failure(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// The digests of all blocks by libxxhash.
std::vector<std::uint64_t> expected_digests(const std::vector<std::byte>& bytes,
                                            const std::vector<DigestRange>& ranges) {
  std::vector<std::uint64_t> digests;
  for (const DigestRange& range : ranges) {
    for (std::size_t done = 0; done < range.size_bytes; done += digest_block_bytes) {
      const std::size_t size = std::min<std::size_t>(digest_block_bytes, range.size_bytes - done);
      digests.push_back(XXH3_64bits(bytes.data() + range.device_offset + done, size));
    }
  }
  return digests;
}

/// Sets how the cpu platform runs kernels, and its defaults again afterwards.
class Execution {
 public:
  Execution(hip::cpu::KernelPath path, unsigned lanes) {
    hip::cpu::set_kernel_path(path);
    hip::cpu::set_warp_size(lanes);
  }
  ~Execution() {
    hip::cpu::set_kernel_path(hip::cpu::KernelPath::native);
    hip::cpu::set_warp_size(32);
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
};

/// Natively and as threads in warps of 32 and 64; on a GPU the same thing three times.
void for_each_execution(const std::function<void()>& check) {
  using hip::cpu::KernelPath;
  for (const auto& [path, lanes] :
       {std::pair(KernelPath::native, 32u), std::pair(KernelPath::fibers, 32u),
        std::pair(KernelPath::fibers, 64u)}) {
    const bool is_native = path == KernelPath::native;
    const unsigned warp = lanes;
    CAPTURE(is_native);
    CAPTURE(warp);
    const Execution execution(path, lanes);
    check();
  }
}

struct Fixture {
  Platforms platforms;
  Device device = test::device(platforms);
  Stream stream{device};
  kernel_store::KernelLoader loader{device};
  BlockDigester digester{loader};

  /// Digests blocks of a table; every place of the list, of which the table's blocks are a part.
  std::vector<std::uint64_t> digest(const DigestTable& table, std::uint64_t first,
                                    std::uint64_t end) {
    const std::uint64_t places = table.block_count() + 2;
    Buffer list(device, places * 8);
    fill(list, untouched, stream);
    digester.digest(table, first, end, list, stream);
    stream.synchronize();
    std::vector<std::uint64_t> seen(places);
    copy_d2h_and_wait(std::as_writable_bytes(std::span(seen)), list);
    return seen;
  }

  /// All blocks, and some from the middle: right where they were asked for, untouched elsewhere.
  void check(const std::vector<std::byte>& bytes, const std::vector<DigestRange>& ranges) {
    Buffer data(device, bytes.size());
    copy_h2d_and_wait(data, bytes);
    const DigestTable table(data, ranges);
    const auto all = expected_digests(bytes, ranges);
    REQUIRE(table.block_count() == all.size());
    const std::uint64_t count = all.size();
    for_each_execution([&] {
      for (const auto& [first, end] :
           {std::pair(std::uint64_t{0}, count), std::pair(count / 3, count - count / 4),
            std::pair(count / 2, count / 2)}) {
        std::vector<std::uint64_t> expected(count + 2, untouched_digest);
        std::copy(all.begin() + static_cast<std::ptrdiff_t>(first),
                  all.begin() + static_cast<std::ptrdiff_t>(end),
                  expected.begin() + static_cast<std::ptrdiff_t>(first));
        CHECK(digest(table, first, end) == expected);
      }
    });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "one range, for all kinds of sizes and alignments") {
  const auto bytes = test::random_bytes(7 * digest_block_bytes, 5);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{240}, std::size_t{241},
                                 digest_block_bytes - 1, digest_block_bytes, digest_block_bytes + 1,
                                 3 * digest_block_bytes + 100, 6 * digest_block_bytes}) {
    for (const std::size_t offset : {0u, 1u, 8u, 4096u}) {
      CAPTURE(size);
      CAPTURE(offset);
      check(bytes, {{offset, size}});
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "every length that a last block can have, side by side in one warp") {
  // Lengths on both sides of each border of XXH3, of its stripes and blocks, in an order that puts
  // short and long ones next to each other.
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t length = 1; length <= 260; ++length) lengths.push_back(length);
  for (std::uint64_t length = 320; length <= digest_block_bytes; length += 64) {
    lengths.insert(lengths.end(), {length - 1, length, length + 1});
  }
  std::shuffle(lengths.begin(), lengths.end(), std::mt19937(7));
  lengths.resize(300);
  std::vector<DigestRange> ranges;
  std::uint64_t offset = 0;
  for (const std::uint64_t length : lengths) {
    ranges.push_back({offset, length});
    offset += (length + 255) / 256 * 256;
  }
  check(test::random_bytes(offset, 6), ranges);
}

TEST_CASE_FIXTURE(Fixture, "ranges of several blocks, empty ones among them, in any order") {
  const auto bytes = test::random_bytes(40 * digest_block_bytes, 8);
  check(bytes, {{20 * digest_block_bytes, 5 * digest_block_bytes},
                {0, 0},
                {256, 1},
                {512, 3 * digest_block_bytes + 7},
                {30 * digest_block_bytes, 0},
                {30 * digest_block_bytes, 2 * digest_block_bytes - 1},
                {40 * digest_block_bytes, 0}});
  check(bytes, {});
  check(bytes, {{0, 0}, {5, 0}});
}

TEST_CASE_FIXTURE(Fixture, "ten thousand tensors of odd sizes in one launch") {
  std::mt19937 generator(9);
  std::vector<DigestRange> ranges;
  std::uint64_t offset = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t size =
        i % 500 == 0 ? 2 * digest_block_bytes + generator() % 100 : generator() % 70;
    ranges.push_back({offset, size});
    offset += (size + 15) / 16 * 16;
  }
  check(test::random_bytes(offset, 10), ranges);
}

TEST_CASE_FIXTURE(Fixture, "more blocks than one pass of a launch digests") {
  if (device.platform() != Platform::cpu) {
    return test::skip_case("a GPU's grid holds more than a test's memory");
  }
  const std::uint64_t units = device.info().compute_units.value_or(1);
  const std::uint64_t size = 256;
  std::vector<DigestRange> ranges;
  for (std::uint64_t i = 0; i < units * 16 * 32 + 5; ++i)
    ranges.push_back({i * size, size - i % 3});
  check(test::random_bytes(ranges.size() * size, 12), ranges);
}

TEST_CASE_FIXTURE(Fixture, "ranges and blocks that do not fit are refused") {
  BlockDigester other(std::move(digester));
  const Buffer data(device, 2 * digest_block_bytes);
  constexpr auto huge = ~std::uint64_t{0};
  const auto code_of_range = [&](const DigestRange& range) {
    const auto error = digest_failure([&] { DigestTable(data, std::vector{range}); });
    return error ? error->code() : ErrorCode::internal;
  };
  CHECK(code_of_range({0, 2 * digest_block_bytes}) == ErrorCode::internal);  // nothing thrown
  CHECK(code_of_range({2 * digest_block_bytes, 0}) == ErrorCode::internal);
  CHECK(code_of_range({0, 2 * digest_block_bytes + 1}) == ErrorCode::out_of_bounds);
  CHECK(code_of_range({1, 2 * digest_block_bytes}) == ErrorCode::out_of_bounds);
  CHECK(code_of_range({huge, 2}) == ErrorCode::out_of_bounds);
  CHECK(code_of_range({0, huge}) == ErrorCode::out_of_bounds);

  const Buffer list(device, 24);
  const DigestTable table(data, std::vector{DigestRange{0, 2 * digest_block_bytes}});
  const auto code = [&](std::uint64_t first, std::uint64_t end, const Buffer& digests) {
    const auto error = digest_failure([&] { other.digest(table, first, end, digests, stream); });
    return error ? error->code() : ErrorCode::internal;
  };
  CHECK(code(0, 2, list) == ErrorCode::internal);
  CHECK(code(2, 2, list) == ErrorCode::internal);
  CHECK(code(0, 3, list) == ErrorCode::out_of_bounds);  // the table has two
  CHECK(code(0, 2, list.view(0, 8)) == ErrorCode::out_of_bounds);
  CHECK(code(1, 0, list) == ErrorCode::out_of_bounds);
  CHECK(code(3, 3, list) == ErrorCode::out_of_bounds);
  CHECK(code(0, huge, list) == ErrorCode::out_of_bounds);
  CHECK(code(0, 1, list.view(4, 16)) == ErrorCode::invalid_argument);
  stream.synchronize();
  CHECK(other.image() == (device.platform() == Platform::cpu ? "cpu" : other.image()));
}
