// SPDX-License-Identifier: MIT
#include "hiptool/arena.hpp"
#include "buffer_bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"
#include "wrapped_device.hpp"

using namespace hiptool;
using hiptool::test::code_of;

namespace {

std::uintptr_t address_of(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.address());
}

constexpr std::size_t padded(std::size_t size) { return (size + 255) / 256 * 256; }

// What an arena should be like, found again each time by walking along the slices.
struct Model {
  struct Taken {
    std::size_t requested;
    Buffer slice;
  };
  std::uintptr_t start;
  std::size_t capacity;
  std::map<std::uintptr_t, Taken> taken;

  std::vector<std::pair<std::uintptr_t, std::size_t>> gaps() const {
    std::vector<std::pair<std::uintptr_t, std::size_t>> found;
    std::uintptr_t end = start;
    const auto add = [&](std::uintptr_t next) {
      if (next > end) found.emplace_back(end, next - end);
    };
    for (const auto& [address, block] : taken) {
      add(address);
      end = address + padded(block.requested);
    }
    add(start + capacity);
    return found;
  }

  // Where best fit puts a block; nothing where it cannot.
  std::optional<std::uintptr_t> best_fit(std::size_t size, std::size_t alignment) const {
    std::optional<std::uintptr_t> best;
    std::size_t best_gap = std::numeric_limits<std::size_t>::max();
    for (const auto& [address, gap] : gaps()) {
      const std::uintptr_t aligned = (address + alignment - 1) / alignment * alignment;
      if (aligned - address + padded(size) <= gap && gap < best_gap) {
        best = aligned;
        best_gap = gap;
      }
    }
    return best;
  }

  void check(const ArenaCounters& counters) const {
    std::size_t requested = 0;
    std::size_t taken_bytes = 0;
    for (const auto& [address, block] : taken) {
      requested += block.requested;
      taken_bytes += padded(block.requested);
    }
    std::size_t largest = 0;
    for (const auto& gap : gaps()) largest = std::max(largest, gap.second);
    REQUIRE(counters.capacity_bytes == capacity);
    REQUIRE(counters.requested_bytes == requested);
    REQUIRE(counters.padded_bytes == taken_bytes);
    REQUIRE(counters.free_bytes == capacity - taken_bytes);
    REQUIRE(counters.largest_free_bytes == largest);
    REQUIRE(counters.fragment_count == gaps().size());
    REQUIRE(counters.slice_count == taken.size());
    const double free_bytes = static_cast<double>(capacity - taken_bytes);
    const double expected = free_bytes > 0 ? 1 - static_cast<double>(largest) / free_bytes : 0;
    REQUIRE(counters.fragmentation() == doctest::Approx(expected));
  }
};

}  // namespace

TEST_CASE("a hundred thousand random operations match a simple model") {
  Platforms platforms;
  constexpr std::size_t capacity = 1u << 20;
  constexpr int operations = test::is_sanitized ? 10'000 : 100'000;
  Arena arena(test::device(platforms), capacity);
  std::mt19937 random(2);
  Model model{address_of(arena.allocate(1)), capacity, {}};
  int refused = 0;
  for (int i = 0; i < operations; ++i) {
    if (random() % 5 < 3 || model.taken.empty()) {
      const std::size_t size = 1 + random() % (random() % 8 == 0 ? 60'000 : 4'000);
      const std::size_t alignment = std::size_t{256} << (random() % 4 == 0 ? random() % 7 : 0);
      const auto expected = model.best_fit(size, alignment);
      if (!expected) {
        ++refused;
        REQUIRE(code_of([&] { static_cast<void>(arena.allocate(size, alignment)); }) ==
                ErrorCode::out_of_memory);
      } else {
        Buffer slice = arena.allocate(size, alignment);
        REQUIRE(address_of(slice) == *expected);  // thus aligned, inside and in nobody's way
        REQUIRE(slice.size_bytes() == size);
        model.taken.emplace(*expected, Model::Taken{size, std::move(slice)});
      }
    }
    if (random() % 5 < 2 && !model.taken.empty()) {
      auto victim = model.taken.lower_bound(model.start + random() % capacity);
      if (victim == model.taken.end()) victim = model.taken.begin();
      model.taken.erase(victim);
    }
    if (i % 50 == 0) model.check(arena.counters());
  }
  CHECK(refused > operations / 100);  // full often enough to say something
  model.taken.clear();
  model.check(arena.counters());
  CHECK(arena.counters().largest_free_bytes == capacity);
}

TEST_CASE("slices and views keep the memory when the arena is gone") {
  test::WrappedDevice wrapped;
  const auto bytes = test::random_bytes(5'000, 3);
  {
    Buffer view;
    {
      Buffer slice;
      {
        Arena arena(wrapped.device(), 64 << 10);
        slice = arena.allocate(5'000);
        copy_h2d_and_wait(slice, bytes);
        const Arena moved(std::move(arena));
        CHECK(moved.counters().slice_count == 1);
      }
      view = slice.view(1'000, 3'000);
    }
    CHECK(wrapped.table().live().device_memory == 1);
    const auto read = test::bytes_of(view);
    CHECK(std::equal(read.begin(), read.end(), bytes.begin() + 1'000));
  }
  CHECK(wrapped.table().live().is_empty());
  CHECK(wrapped.table().count("hipMalloc") == 1);
  CHECK(wrapped.table().count("hipFree") == 1);
}

TEST_CASE("a range is free when the last view is destroyed, not before") {
  Platforms platforms;
  Arena arena(test::device(platforms), 4'096);
  Buffer slice = arena.allocate(4'096);
  Buffer view = slice.view(100, 1);
  slice = Buffer();
  CHECK(code_of([&] { static_cast<void>(arena.allocate(1)); }) == ErrorCode::out_of_memory);
  view = Buffer();
  CHECK(arena.allocate(4'096).size_bytes() == 4'096);
}

TEST_CASE("a slice is listed with its name while it exists") {
  Platforms platforms;
  Arena arena(test::device(platforms), 1 << 20);
  Buffer weight = arena.allocate_named("weight", 1'000);
  const Buffer bias = arena.allocate_named("bias", 0);
  CHECK(arena.find("weight").address() == weight.address());
  CHECK(arena.find("weight").size_bytes() == 1'000);
  CHECK(arena.find("bias").is_empty());
  CHECK(code_of([&] { static_cast<void>(arena.find("Weight")); }) == ErrorCode::not_found);
  CHECK(code_of([&] { static_cast<void>(arena.allocate_named("weight", 1)); }) ==
        ErrorCode::invalid_argument);
  CHECK(code_of([&] { static_cast<void>(arena.allocate_named("", 1)); }) ==
        ErrorCode::invalid_argument);
  CHECK(arena.counters().slice_count == 2);
  CHECK(code_of([&] { static_cast<void>(arena.allocate_named("huge", 2 << 20)); }) ==
        ErrorCode::out_of_memory);
  CHECK(code_of([&] { static_cast<void>(arena.find("huge")); }) == ErrorCode::not_found);
  CHECK(arena.counters().requested_bytes == 1'000);

  Buffer found = arena.find("weight");
  weight = Buffer();
  CHECK(arena.find("weight").address() == found.address());
  found = Buffer();
  CHECK(code_of([&] { static_cast<void>(arena.find("weight")); }) == ErrorCode::not_found);
  CHECK(arena.allocate_named("weight", 5).size_bytes() == 5);  // the name is free again
}

TEST_CASE("invalid alignments and impossible sizes are refused") {
  Platforms platforms;
  const Device device = test::device(platforms);
  Arena arena(device, 10'000);
  CHECK(arena.counters().capacity_bytes == 10'240);
  for (const std::size_t alignment : {0u, 1u, 128u, 255u, 257u, 384u, 768u}) {
    CAPTURE(alignment);
    CHECK(code_of([&] { static_cast<void>(arena.allocate(1, alignment)); }) ==
          ErrorCode::invalid_argument);
  }
  constexpr auto huge = std::numeric_limits<std::size_t>::max();
  for (const std::size_t size : {std::size_t{10'241}, huge, huge - 254, huge - 255}) {
    CAPTURE(size);
    CHECK(code_of([&] { static_cast<void>(arena.allocate(size)); }) == ErrorCode::out_of_memory);
  }
  try {
    const Buffer most = arena.allocate(10'000);
    static_cast<void>(arena.allocate(1));
    FAIL("the arena was full");
  } catch (const Error& error) {
    CHECK(error.is_recoverable());
  }
  CHECK(code_of([] { Arena{Buffer()}; }) == ErrorCode::invalid_argument);
  CHECK(Arena(device, 0).allocate(0).address() == nullptr);
  CHECK(code_of([&] { static_cast<void>(Arena(device, 0).allocate(1)); }) ==
        ErrorCode::out_of_memory);
}

TEST_CASE("existing memory can be divided, from its first aligned address") {
  Platforms platforms;
  const Buffer memory(test::device(platforms), 4'096);
  REQUIRE(address_of(memory) % 256 == 0);
  Arena arena(memory.view(1, 4'000));
  CHECK(arena.counters().capacity_bytes == 3'584);  // from 256 to 3840
  CHECK(arena.allocate(3'584).address() == memory.view(256, 1).address());
  CHECK(Arena(memory.view(1, 200)).counters().capacity_bytes == 0);
  CHECK(Arena(memory.view(1, 300)).counters().capacity_bytes == 0);
}

TEST_CASE("threads get slices of their own") {
  Platforms platforms;
  Arena arena(test::device(platforms), 1 << 20);
  std::atomic<int> failures{0};
  std::vector<std::atomic<int>> owners(4'096);  // of each granule
  const std::uintptr_t start = address_of(arena.allocate(1));
  {
    std::vector<std::jthread> threads;
    for (int id = 1; id <= 8; ++id) {
      threads.emplace_back([&, id] {
        std::mt19937 random(static_cast<unsigned>(id));
        for (int i = 0; i < 2'000; ++i) {
          const std::size_t size = 1 + random() % 8'000;
          const std::string name = "slice of " + std::to_string(id);
          const Buffer slice = i % 2 == 0 ? arena.allocate(size) : arena.allocate_named(name, size);
          if (i % 2 == 1 && arena.find(name).address() != slice.address()) ++failures;
          const std::size_t first = (address_of(slice) - start) / 256;
          for (std::size_t k = 0; k < padded(size) / 256; ++k) {
            if (owners[first + k].exchange(id) != 0) ++failures;
          }
          for (std::size_t k = 0; k < padded(size) / 256; ++k) {
            if (owners[first + k].exchange(0) != id) ++failures;
          }
        }
      });
    }
  }
  CHECK(failures == 0);
  CHECK(arena.counters().free_bytes == 1 << 20);
  CHECK(arena.counters().fragment_count == 1);
}
