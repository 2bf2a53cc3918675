// SPDX-License-Identifier: MIT
#include "hiptool/caching_allocator.hpp"
#include "buffer_bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gate.hpp"
#include "hip/api.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"
#include "wrapped_device.hpp"

using namespace hiptool;
using hiptool::test::code_of;

TEST_CASE("blocks have eighths of powers of two from 512 bytes to 32 MiB") {
  const auto block = &CachingAllocator::block_size;
  CHECK(block(1) == 512);
  CHECK(block(512) == 512);
  CHECK(block(513) == 576);
  CHECK(block(576) == 576);
  CHECK(block(577) == 640);
  CHECK(block(1'023) == 1'024);
  CHECK(block(1'024) == 1'024);
  CHECK(block(1'025) == 1'152);
  CHECK(block((32u << 20) - 1) == 32u << 20);
  CHECK(block(32u << 20) == 32u << 20);
  CHECK(block((32u << 20) + 1) == (32u << 20) + 1);
  CHECK(block(~std::size_t{0}) == ~std::size_t{0});
  std::mt19937 random(4);
  for (int i = 0; i < 10'000; ++i) {
    const std::size_t size = 513 + random() % (32u << 20);
    CAPTURE(size);
    REQUIRE(block(size) >= size);
    REQUIRE(block(size) - size < size / 8 + 1);
    REQUIRE(block(block(size)) == block(size));
  }
}

TEST_CASE("a freed block is used again on its stream at once, while its work is still queued") {
  test::WrappedDevice wrapped;
  const Stream stream(wrapped.device());
  CachingAllocator allocator(wrapped.device());
  Buffer first = allocator.allocate(1'000, stream);
  CHECK(first.size_bytes() == 1'000);
  void* address = first.address();
  test::Gate gate(stream);
  fill(first, std::byte{1}, stream);
  first = Buffer();
  const std::uint64_t waits = wrapped.table().count("hipStreamWaitEvent");
  Buffer second = allocator.allocate(1'010, stream);
  CHECK(second.address() == address);
  // The handle alone does not prove that the work is behind: a later stream may have got it.
  CHECK(wrapped.table().count("hipStreamWaitEvent") == waits + 1);
  fill(second, std::byte{2}, stream);
  gate.open();
  std::vector<std::byte> bytes(second.size_bytes());
  copy_d2h(bytes, second, stream);
  stream.synchronize();
  CHECK(std::count(bytes.begin(), bytes.end(), std::byte{2}) == 1'010);
  CHECK(wrapped.table().count("hipMalloc") == 1);
  const auto statistics = allocator.statistics();
  CHECK(statistics.hits == 1);
  CHECK(statistics.misses == 1);
  CHECK(statistics.used_bytes == 1'024);
  CHECK(statistics.used_blocks == 1);
  CHECK(statistics.cached_bytes == 0);
}

TEST_CASE("another stream gets a block only when the work that used it is done") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  const Stream other(device);
  CachingAllocator allocator(device);
  Buffer first = allocator.allocate(4'096, stream);
  void* address = first.address();
  test::Gate gate(stream);
  fill(first, std::byte{1}, stream);
  first = Buffer();
  Buffer second = allocator.allocate(4'096, other);
  CHECK(second.address() != address);
  CHECK(allocator.statistics().hits == 0);
  gate.open();
  stream.synchronize();
  const Buffer third = allocator.allocate(4'096, other);
  CHECK(third.address() == address);
  CHECK(allocator.statistics().hits == 1);
  CHECK(allocator.statistics().misses == 2);
}

TEST_CASE("a block that a second stream uses is kept until both are done with it") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  const Stream second_user(device);
  CachingAllocator allocator(device);
  const Buffer below = allocator.allocate(512, stream);
  Buffer buffer = allocator.allocate(4'096, stream);
  const void* address = buffer.address();
  allocator.record_use(buffer.view(100, 10), second_user);
  allocator.record_use(buffer, second_user);  // once more changes nothing
  test::Gate gate(second_user);
  buffer = Buffer();
  CHECK(allocator.allocate(4'096, stream).address() != address);
  gate.open();
  second_user.synchronize();
  stream.synchronize();
  // From now on it is of its new stream alone.
  Buffer again = allocator.allocate(4'096, second_user);
  Buffer last = allocator.allocate(4'096, second_user);
  CHECK((again.address() == address || last.address() == address));
}

TEST_CASE("record_use and allocate refuse foreign buffers and streams") {
  auto options = Platforms::Options::from_environment();
  options.cpu_devices = 2;
  Platforms platforms(options);
  const auto devices = platforms.devices(Platform::cpu);
  const Stream stream(devices[0]);
  const Stream elsewhere(devices[1]);
  CachingAllocator allocator(devices[0]);
  const Buffer own = allocator.allocate(4'096, stream);
  const Buffer foreign(devices[0], 64);
  CHECK(code_of([&] { static_cast<void>(allocator.allocate(1, elsewhere)); }) ==
        ErrorCode::invalid_argument);
  CHECK(code_of([&] { allocator.record_use(own, elsewhere); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { allocator.record_use(foreign, stream); }) == ErrorCode::invalid_argument);
  allocator.record_use(Buffer(), stream);
  const Buffer returned =
      Buffer::borrow_native(devices[0], allocator.allocate(4'096, stream).address(), 4'096);
  CHECK(code_of([&] { allocator.record_use(returned, stream); }) == ErrorCode::invalid_argument);
  CHECK(allocator.allocate(0, stream).address() == nullptr);
  CHECK(allocator.statistics().misses == 2);
}

TEST_CASE("out of memory releases everything cached and tries once more") {
  test::WrappedDevice wrapped;
  const Stream stream(wrapped.device());
  CachingAllocator allocator(wrapped.device());
  for (const std::size_t size : {1'000u, 5'000u, 70'000u}) {
    static_cast<void>(allocator.allocate(size, stream));
  }
  CHECK(allocator.statistics().cached_blocks == 3);
  SUBCASE("which succeeds") {
    wrapped.table().fail("hipMalloc", hip::hipErrorOutOfMemory);
    const Buffer buffer = allocator.allocate(200'000, stream);
    CHECK(buffer.size_bytes() == 200'000);
    CHECK(wrapped.table().live().device_memory == 1);
    CHECK(allocator.statistics().recoveries == 1);
    CHECK(allocator.statistics().cached_bytes == 0);
    CHECK(allocator.statistics().cached_blocks == 0);
    CHECK(allocator.statistics().evictions == 0);
  }
  SUBCASE("which fails too") {
    const std::uint64_t before = wrapped.table().count("hipMalloc");
    wrapped.table().fail("hipMalloc", hip::hipErrorOutOfMemory, 1, 100);
    CHECK(code_of([&] { static_cast<void>(allocator.allocate(200'000, stream)); }) ==
          ErrorCode::out_of_memory);
    CHECK(wrapped.table().count("hipMalloc") == before + 2);
    CHECK(allocator.statistics().used_blocks == 0);
  }
  SUBCASE("but no other failure does") {
    const std::uint64_t before = wrapped.table().count("hipMalloc");
    wrapped.table().fail("hipMalloc", hip::hipErrorIllegalAddress, 1, 100);
    CHECK(code_of([&] { static_cast<void>(allocator.allocate(200'000, stream)); }) ==
          ErrorCode::device_lost);
    CHECK(wrapped.table().count("hipMalloc") == before + 1);
    CHECK(allocator.statistics().cached_blocks == 3);
  }
}

TEST_CASE("the cache keeps its limit by freeing the largest blocks first") {
  test::WrappedDevice wrapped;
  const Stream stream(wrapped.device());
  CachingAllocator allocator(wrapped.device(), {.cache_limit_bytes = 100'000});
  CHECK(allocator.cache_limit_bytes() == 100'000);
  std::vector<Buffer> buffers;
  for (const std::size_t size : {4'096u, 65'536u, 16'384u, 8'192u, 32'768u, 131'072u}) {
    buffers.push_back(allocator.allocate(size, stream));
  }
  const std::vector<std::size_t> cached_after{4'096,  69'632, 86'016, 94'208,
                                              61'440, 61'440};  // 65536 goes, then 131072 itself
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    CAPTURE(i);
    buffers[i] = Buffer();
    CHECK(allocator.statistics().cached_bytes == cached_after[i]);
  }
  CHECK(allocator.statistics().evictions == 2);
  CHECK(allocator.statistics().cached_blocks == 4);
  CHECK(wrapped.table().live().device_memory == 4);
  CHECK(allocator.release_cached() == 61'440);
  CHECK(wrapped.table().live().device_memory == 0);
  CHECK(allocator.release_cached() == 0);
}

TEST_CASE("without other wishes an eighth of the device's memory is kept") {
  Platforms platforms;
  const Device device = test::device(platforms);
  CHECK(CachingAllocator(device).cache_limit_bytes() == device.memory().total_bytes / 8);
}

TEST_CASE("buffers outlive the allocator and nothing leaks") {
  test::WrappedDevice wrapped;
  const auto bytes = test::random_bytes(3'000, 5);
  {
    const Stream stream(wrapped.device());
    Buffer view;
    Buffer other;
    {
      CachingAllocator first(wrapped.device());
      CachingAllocator allocator(std::move(first));
      static_cast<void>(allocator.allocate(100, stream));
      other = allocator.allocate(50'000, stream);
      Buffer buffer = allocator.allocate(3'000, stream);
      copy_h2d_and_wait(buffer, bytes);
      view = buffer.view(500, 2'500);
      CachingAllocator target(wrapped.device());
      static_cast<void>(target.allocate(10'000, stream));
      CHECK(wrapped.table().live().device_memory == 4);
      target = std::move(allocator);
      CHECK(wrapped.table().live().device_memory == 3);
    }
    CHECK(wrapped.table().live().device_memory == 2);
    other = Buffer();  // no allocator is there to keep its block
    CHECK(wrapped.table().live().device_memory == 1);
    const auto read = test::bytes_of(view);
    CHECK(std::equal(read.begin(), read.end(), bytes.begin() + 500));
  }
  CHECK(wrapped.table().live().is_empty());
}

TEST_CASE("a block that cannot be marked goes back to the runtime") {
  test::WrappedDevice wrapped;
  const Stream stream(wrapped.device());
  CachingAllocator allocator(wrapped.device());
  Buffer buffer = allocator.allocate(1'000, stream);
  wrapped.table().fail("hipEventRecord", hip::hipErrorInvalidHandle);
  buffer = Buffer();
  CHECK(allocator.statistics().cached_blocks == 0);
  CHECK(allocator.statistics().used_blocks == 0);
  CHECK(wrapped.table().live().device_memory == 0);
}

TEST_CASE("an event that cannot be queried fails the allocation and leaks nothing") {
  test::WrappedDevice wrapped;
  const Stream stream(wrapped.device());
  const Stream other(wrapped.device());
  CachingAllocator allocator(wrapped.device());
  static_cast<void>(allocator.allocate(1'000, stream));
  wrapped.table().fail("hipEventQuery", hip::hipErrorInvalidHandle);
  CHECK(code_of([&] { static_cast<void>(allocator.allocate(1'000, other)); }) == ErrorCode::device);
  CHECK(allocator.statistics().cached_blocks == 1);
  stream.synchronize();
  CHECK(allocator.allocate(1'000, other).size_bytes() == 1'000);
  CHECK(allocator.statistics().hits == 1);
}

TEST_CASE("eight threads with a stream each never see each other's bytes") {
  test::WrappedDevice wrapped;
  std::atomic<int> failures{0};
  {
    // Small enough that blocks are evicted, too.
    CachingAllocator allocator(wrapped.device(), {.cache_limit_bytes = 1u << 20});
    std::vector<std::jthread> threads;
    for (int id = 1; id <= 8; ++id) {
      threads.emplace_back([&, id] {
        const Stream stream(wrapped.device());
        std::mt19937 random(static_cast<unsigned>(id));
        for (int i = 0; i < 60; ++i) {
          // Freed while the work is queued; what was read shows whether anyone wrote meanwhile.
          std::vector<std::vector<std::byte>> read(4);
          for (auto& bytes : read) {
            Buffer buffer = allocator.allocate(60'000 + random() % 8'000, stream);
            bytes.resize(buffer.size_bytes());
            fill(buffer, static_cast<std::byte>(id), stream);
            copy_d2h(bytes, buffer, stream);
          }
          stream.synchronize();
          for (const auto& bytes : read) {
            const auto own = static_cast<std::byte>(id);
            if (std::any_of(bytes.begin(), bytes.end(),
                            [&](std::byte byte) { return byte != own; })) {
              ++failures;
            }
          }
        }
      });
    }
    threads.clear();
    CHECK(failures == 0);
    const auto statistics = allocator.statistics();
    CHECK(statistics.hits + statistics.misses == 8 * 60 * 4);
    CHECK(statistics.hits > statistics.misses);
    CHECK(statistics.used_blocks == 0);
    CHECK(statistics.used_bytes == 0);
    CHECK(statistics.cached_bytes <= 1u << 20);
    const auto live = static_cast<std::uint64_t>(wrapped.table().live().device_memory);
    CHECK(live == statistics.cached_blocks);
    CHECK(statistics.misses == statistics.cached_blocks + statistics.evictions);
  }
  CHECK(wrapped.table().live().is_empty());
}
