// SPDX-License-Identifier: MIT
#include "hiptool/buffer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "buffer_bytes.hpp"
#include "hip/api.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "support.hpp"

using namespace hiptool;
using hiptool::test::code_of;

TEST_CASE("a view outlives its parent and keeps nested offsets") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const auto bytes = test::random_bytes(10'000, 1);
  Buffer inner;
  {
    Buffer parent(device, bytes.size());
    copy_h2d_and_wait(parent, bytes);
    const Buffer outer = parent.view(1'001, 5'000);
    inner = outer.view(99, 333);
  }
  const std::vector<std::byte> expected(bytes.begin() + 1'100, bytes.begin() + 1'433);
  CHECK(test::bytes_of(inner) == expected);
}

TEST_CASE("views that do not fit are refused, also where a sum would wrap") {
  Platforms platforms;
  const Buffer buffer(test::device(platforms), 100);
  constexpr auto huge = std::numeric_limits<std::size_t>::max();
  CHECK(buffer.view(100, 0).is_empty());
  using Range = std::pair<std::size_t, std::size_t>;
  for (const Range& range : {Range{101, 0}, Range{0, 101}, Range{50, 51}, Range{huge, 2},
                             Range{2, huge}, Range{huge, huge}}) {
    CAPTURE(range.first);
    CAPTURE(range.second);
    CHECK(code_of([&] { static_cast<void>(buffer.view(range.first, range.second)); }) ==
          ErrorCode::out_of_bounds);
  }
}

TEST_CASE("empty buffers make no allocation") {
  Platforms platforms;
  const Device device = test::device(platforms);
  Buffer buffer(device, 0);
  CHECK(buffer.address() == nullptr);
  CHECK(test::bytes_of(buffer).empty());
  copy_h2d_and_wait(buffer, {});
  CHECK(Buffer().is_empty());
}

TEST_CASE("an allocation that cannot succeed names size and free memory") {
  Platforms platforms;
  const Device device = test::device(platforms);
  try {
    const Buffer buffer(device, std::size_t{1} << 50);
    FAIL("allocated a PiB");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_memory);
    CHECK(error.is_recoverable());
    CHECK(error.operation() == "hipMalloc");
    CHECK(error.native()->code == hip::hipErrorOutOfMemory);
    CHECK(std::string(error.what()).find("1.00 PiB") != std::string::npos);
    CHECK(std::string(error.what()).find(device.id()) != std::string::npos);
  }
}

TEST_CASE("random bytes come back, whole and in part, at odd offsets") {
  Platforms platforms;
  const Device device = test::device(platforms);
  for (const std::size_t size : {1u, 2u, 255u, 4'097u, 1'000'003u, 33'554'432u}) {
    CAPTURE(size);
    const auto bytes = test::random_bytes(size, size);
    const Buffer buffer(device, size + 7);
    copy_h2d_and_wait(buffer.view(7, size), bytes);
    CHECK(test::bytes_of(buffer.view(7, size)) == bytes);
  }
  Buffer small(device, 10);
  const auto eleven = test::random_bytes(11, 3);
  const Stream stream(device);
  CHECK(code_of([&] { copy_h2d(small, eleven, stream); }) == ErrorCode::out_of_bounds);
  std::vector<std::byte> target(11);
  CHECK(code_of([&] { copy_d2h(target, small, stream); }) == ErrorCode::out_of_bounds);
}

TEST_CASE("device-to-device copies: equal sizes, no overlap") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  const auto bytes = test::random_bytes(5'000, 5);
  Buffer source(device, bytes.size());
  Buffer destination(device, bytes.size());
  copy_h2d_and_wait(source, bytes);
  copy_d2d(destination, source, stream);
  stream.synchronize();
  CHECK(test::bytes_of(destination) == bytes);
  CHECK(code_of([&] { copy_d2d(destination.view(0, 10), source.view(0, 11), stream); }) ==
        ErrorCode::out_of_bounds);
  CHECK(code_of([&] { copy_d2d(source.view(0, 100), source.view(99, 100), stream); }) ==
        ErrorCode::invalid_argument);
  copy_d2d(source.view(0, 100), source.view(100, 100), stream);  // touching is not overlapping
  fill(destination.view(10, 20), std::byte{0xAB}, stream);
  stream.synchronize();
  const auto filled = test::bytes_of(destination);
  CHECK(filled[9] == bytes[9]);
  CHECK(filled[10] == std::byte{0xAB});
  CHECK(filled[29] == std::byte{0xAB});
  CHECK(filled[30] == bytes[30]);
}

TEST_CASE("rectangles equal a copy row by row on the host") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  std::mt19937 random(7);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  for (int round = 0; round < 50; ++round) {
    const std::size_t width = 1 + below(200);
    const std::size_t height = 1 + below(40);
    const Rectangle from{below(100), width + below(50)};
    const Rectangle to{below(100), width + below(50)};
    const std::size_t size = 20'000;
    auto source_bytes = test::random_bytes(size, 10 + static_cast<std::uint64_t>(round));
    auto expected = test::random_bytes(size, 1'000 + static_cast<std::uint64_t>(round));
    Buffer source(device, size);
    Buffer destination(device, size);
    copy_h2d_and_wait(source, source_bytes);
    copy_h2d_and_wait(destination, expected);
    copy_d2d_2d(destination, to, source, from, width, height, stream);
    stream.synchronize();
    for (std::size_t row = 0; row < height; ++row) {
      std::memcpy(&expected[to.offset_bytes + row * to.pitch_bytes],
                  &source_bytes[from.offset_bytes + row * from.pitch_bytes], width);
    }
    REQUIRE(test::bytes_of(destination) == expected);
  }
}

TEST_CASE("rectangles: empty ones copy nothing, pitch below width and overhang are refused") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  Buffer a(device, 1'000);
  const Buffer b(device, 1'000);
  const auto copy = [&](Rectangle to, Rectangle from, std::size_t width, std::size_t height) {
    return code_of([&] { copy_d2d_2d(a, to, b, from, width, height, stream); });
  };
  CHECK(copy({5'000, 0}, {0, 0}, 0, 10) == std::nullopt);  // nothing thrown
  CHECK(copy({0, 0}, {0, 0}, 10, 0) == std::nullopt);
  CHECK(copy({0, 9}, {0, 10}, 10, 2) == ErrorCode::invalid_argument);
  CHECK(copy({0, 10}, {0, 9}, 10, 2) == ErrorCode::invalid_argument);
  CHECK(copy({0, 100}, {0, 100}, 100, 10) == std::nullopt);
  CHECK(copy({1, 100}, {0, 100}, 100, 10) == ErrorCode::out_of_bounds);
  CHECK(copy({0, 100}, {901, 100}, 100, 1) == ErrorCode::out_of_bounds);
  CHECK(copy({0, ~std::size_t{0} / 2}, {0, 100}, 100, 4) == ErrorCode::out_of_bounds);
  stream.synchronize();
}

TEST_CASE("pinned memory of both kinds serves copies, empty is allowed") {
  Platforms platforms;
  const Device device = test::device(platforms);
  for (const auto method : {PinnedBuffer::Method::runtime, PinnedBuffer::Method::registered}) {
    PinnedBuffer pinned(device, 3'000'001, method);
    const auto bytes = test::random_bytes(pinned.size_bytes(), 11);
    std::copy(bytes.begin(), bytes.end(), pinned.data());
    Buffer buffer(device, bytes.size());
    const Stream stream(device);
    copy_h2d(buffer, pinned.bytes(), stream);
    stream.synchronize();
    CHECK(test::bytes_of(buffer) == bytes);
    PinnedBuffer moved(std::move(pinned));
    CHECK(moved.data()[17] == bytes[17]);
    PinnedBuffer empty(device, 0, method);
    CHECK(empty.bytes().empty());
  }
}

TEST_CASE("an owner is let go with the last buffer on its memory") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Buffer memory(device, 64);
  auto owner = std::make_shared<int>(7);
  Buffer view;
  {
    const Buffer lent = Buffer::borrow_native(device, memory.address(), 64, owner);
    CHECK(lent.has_device());
    view = lent.view(8, 8);
  }
  CHECK(owner.use_count() == 2);
  view = Buffer();
  CHECK(owner.use_count() == 1);
  CHECK_FALSE(view.has_device());
}

TEST_CASE("native memory can be borrowed and stays the caller's") {
  Platforms platforms;
  const Device device = test::device(platforms);
  Buffer owner(device, 64);
  {
    const Buffer borrowed = Buffer::borrow_native(device, owner.native_handle(), 64);
    CHECK(borrowed.address() == owner.address());
  }
  const auto bytes = test::random_bytes(64, 12);
  copy_h2d_and_wait(owner, bytes);  // still alive
  CHECK(test::bytes_of(owner) == bytes);
  CHECK(code_of([&] { static_cast<void>(Buffer::borrow_native(device, nullptr, 1)); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("ten thousand allocations leak no memory") {
  Platforms platforms;
  const Device device = test::device(platforms);
  bool is_kept = false;
  // Other programs take memory meanwhile; a leak, of 320 MB, would show every time.
  for (int times = 0; !is_kept && times < 3; ++times) {
    const std::uint64_t before = device.memory().free_bytes;
    for (int i = 0; i < 10'000; ++i) {
      const Buffer buffer(device, 1 + static_cast<std::size_t>(i) * 37 % 65'536);
    }
    is_kept = device.memory().free_bytes + (256u << 20) > before;
  }
  CHECK(is_kept);
}
