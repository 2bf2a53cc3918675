// SPDX-License-Identifier: MIT
/// Memory and seeds of a Backend.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <regex>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/error.hpp"
#include "hiptool/ops_move.hpp"
#include "support.hpp"
#include "unit/core/wrapped_device.hpp"

using namespace hiptool;

TEST_CASE("an allocation beyond a share of the free memory is refused with four numbers") {
  Platforms platforms;
  Backend backend(test::device(platforms));
  const MemoryInfo memory = backend.device().memory();
  REQUIRE(memory.free_bytes <= memory.total_bytes);
  CHECK(backend.can_allocate(0));
  CHECK(backend.can_allocate(memory.free_bytes / 2));
  CHECK_FALSE(backend.can_allocate(memory.free_bytes / 10 * 8));
  CHECK_FALSE(backend.can_allocate(memory.free_bytes / 2, 0.25));
  CHECK_FALSE(backend.can_allocate(UINT64_MAX, 1));
  CHECK(backend.allocate_within(1 << 20).size_bytes() == 1 << 20);
  try {
    static_cast<void>(backend.allocate_within(memory.total_bytes * 2));
    FAIL("was allocated");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_memory);
    const std::regex numbers(
        ".*[0-9.]+ .iB on .* exceed [0-9.]+ .iB, 70 % of the [0-9.]+ .iB that "
        "are free of [0-9.]+ .iB.*");
    CAPTURE(error.what());
    CHECK(std::regex_match(error.what(), numbers));
  }
  for (const double share : {0.0, -1.0, 1.01, std::nan("")}) {
    CAPTURE(share);
    CHECK(test::code_of([&] { static_cast<void>(backend.can_allocate(1, share)); }) ==
          ErrorCode::invalid_argument);
    CHECK(test::code_of([&] { static_cast<void>(backend.allocate_within(1, share)); }) ==
          ErrorCode::invalid_argument);
  }
}

TEST_CASE("memory that the allocator keeps counts as free, and is given back where it is needed") {
  test::WrappedDevice wrapped;
  Backend backend(wrapped.device());
  static_cast<void>(backend.empty(DType::u8, {1 << 20}));
  backend.synchronize();
  REQUIRE(backend.allocator().statistics().cached_bytes > 0);
  static_cast<void>(backend.allocate_within(4096));
  CHECK(backend.allocator().statistics().cached_bytes > 0);
  CHECK(test::code_of([&] { static_cast<void>(backend.allocate_within(UINT64_MAX)); }) ==
        ErrorCode::out_of_memory);
  CHECK(backend.allocator().statistics().cached_bytes == 0);
}

TEST_CASE("seeds of a device are those of SplitMix64, the same for all copies of its Backend") {
  Platforms platforms;
  Backend backend(test::device(platforms));
  Backend copy = backend;
  backend.set_seed(1234567);  // as published with the algorithm
  CHECK(backend.next_seed() == 6457827717110365317u);
  CHECK(copy.next_seed() == 3203168211198807973u);
  CHECK(backend.next_seed() == 9817491932198370423u);
  const auto drawn = [&] {
    backend.set_seed(7);
    std::vector<float> numbers;
    for (int i = 0; i < 2; ++i) {
      const Tensor x = ops::rand_normal(backend, DType::f32, {5}, backend.next_seed(), 0, 1);
      const auto more = x.to_host<float>(backend.stream());
      numbers.insert(numbers.end(), more.begin(), more.end());
    }
    return numbers;
  };
  const std::vector<float> first = drawn();
  CHECK(drawn() == first);
  CHECK(std::vector(first.begin(), first.begin() + 5) !=
        std::vector(first.begin() + 5, first.end()));
}
