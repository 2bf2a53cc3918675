// SPDX-License-Identifier: MIT
#include "hiptool/memory_plan.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t mebibyte = 1u << 20;

// The cpu platform with a memory of chosen size; allocations are only counted.
struct FixedMemory {
  static inline std::size_t free_bytes = 0;
  static inline std::size_t total_bytes = 0;
  static inline int allocations = 0;
};

class FixedMemoryBinder final : public hip::Binder {
 public:
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    if (platform != Platform::cpu) return {};
    hip::Binding binding = hip::bind_cpu(request);
    static hip::Api api;
    api = *binding.api;
    api.hipMemGetInfo = [](std::size_t* free, std::size_t* total) {
      *free = FixedMemory::free_bytes;
      *total = FixedMemory::total_bytes;
      return hip::hipSuccess;
    };
    api.hipMalloc = [](void** pointer, std::size_t) {
      ++FixedMemory::allocations;
      *pointer = &FixedMemory::allocations;
      return hip::hipSuccess;
    };
    api.hipFree = [](void*) { return hip::hipSuccess; };
    binding.api = &api;
    return binding;
  }
};

struct FixedDevice {
  Platforms platforms{Platforms::Options{}, std::make_shared<FixedMemoryBinder>()};
  Device device;

  FixedDevice(std::size_t free_bytes, std::size_t total_bytes)
      : device(find_device(platforms, "cpu")) {
    FixedMemory::free_bytes = free_bytes;
    FixedMemory::total_bytes = total_bytes;
    FixedMemory::allocations = 0;
  }
};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("sizes are padded to 256 bytes and stop at the largest number") {
  CHECK(padded_size(0) == 0);
  CHECK(padded_size(1) == 256);
  CHECK(padded_size(255) == 256);
  CHECK(padded_size(256) == 256);
  CHECK(padded_size(257) == 512);
  CHECK(padded_size(huge - 255) == huge - 255);  // the largest multiple
  CHECK(padded_size(huge - 254) == huge);
  CHECK(padded_size(huge) == huge);
}

TEST_CASE("a need is the padded sum and the larger of 10 % and 100 MiB") {
  const MemoryNeed nothing = memory_need({});
  CHECK(nothing.requested_bytes == 0);
  CHECK(nothing.padded_bytes == 0);
  CHECK(nothing.margin_bytes == 100 * mebibyte);
  CHECK(nothing.total_bytes == 100 * mebibyte);

  const MemoryNeed three = memory_need(std::vector<std::uint64_t>{1, 256, 300});
  CHECK(three.requested_bytes == 557);
  CHECK(three.padded_bytes == 256 + 256 + 512);
  CHECK(three.total_bytes == 1024 + 100 * mebibyte);

  // both margins are the same at 1000 MiB
  const auto margin = [](std::uint64_t size) {
    return memory_need(std::vector<std::uint64_t>{size}).margin_bytes;
  };
  CHECK(margin(1000 * mebibyte) == 100 * mebibyte);
  CHECK(margin(1000 * mebibyte + 2560) == 100 * mebibyte + 256);
  CHECK(margin(1000 * mebibyte - 2560) == 100 * mebibyte);
}

TEST_CASE("sums that do not fit stop at the largest number") {
  const MemoryNeed one = memory_need(std::vector<std::uint64_t>{huge});
  CHECK(one.requested_bytes == huge);
  CHECK(one.padded_bytes == huge);
  CHECK(one.margin_bytes == huge / 10);
  CHECK(one.total_bytes == huge);
  const MemoryNeed three = memory_need(std::vector<std::uint64_t>{huge / 2, huge / 2, huge / 2});
  CHECK(three.requested_bytes == huge);
  CHECK(three.total_bytes == huge);
}

TEST_CASE("memory can be allocated up to the last free byte") {
  const FixedDevice fixed(1000, 2000);
  CHECK(can_allocate(fixed.device, 0));
  CHECK(can_allocate(fixed.device, 1000));
  CHECK_FALSE(can_allocate(fixed.device, 1001));
}

TEST_CASE("a request above 70 % of the free memory is refused with its four numbers") {
  const FixedDevice fixed(10 * mebibyte, 16 * mebibyte);
  CHECK(allocate_safe(fixed.device, 7 * mebibyte).size_bytes() == 7 * mebibyte);
  CHECK(FixedMemory::allocations == 1);
  try {
    allocate_safe(fixed.device, 7 * mebibyte + 1);
    FAIL("allocated more than 70 %");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_memory);
    const std::string text = error.what();
    CHECK(contains(text, "7.00 MiB on cpu:0 are more than 7.00 MiB"));
    CHECK(contains(text, "10.0 MiB that are free of 16.0 MiB"));
  }
  CHECK(FixedMemory::allocations == 1);
}

TEST_CASE("70 % is exact for every remainder and for the largest numbers") {
  for (std::size_t free_bytes = 0; free_bytes < 40; ++free_bytes) {
    CAPTURE(free_bytes);
    const FixedDevice fixed(free_bytes, 100);
    CHECK_NOTHROW(allocate_safe(fixed.device, free_bytes * 7 / 10));
    CHECK_THROWS_AS(allocate_safe(fixed.device, free_bytes * 7 / 10 + 1), Error);
  }
  const FixedDevice fixed(huge, huge);
  CHECK_NOTHROW(allocate_safe(fixed.device, 12'912'720'851'596'686'130u));  // floor(0.7 (2^64 - 1))
  CHECK_THROWS_AS(allocate_safe(fixed.device, 12'912'720'851'596'686'131u), Error);
}

TEST_CASE("a model is checked with its margin and without the 70 %") {
  const std::vector<std::uint64_t> sizes{200 * mebibyte, 1};
  const std::uint64_t needed = 300 * mebibyte + 256;
  const FixedDevice fixed(needed, 2 * needed);
  CHECK(check_model(fixed.device, sizes).total_bytes == needed);
  FixedMemory::free_bytes = needed - 1;
  try {
    check_model(fixed.device, sizes);
    FAIL("fits a device that is one byte too small");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_memory);
    const std::string text = error.what();
    CHECK(contains(text, "200 MiB padded and a margin of 100 MiB on cpu:0"));
    CHECK(contains(text, "300 MiB of 600 MiB are free: 1 B too little"));
  }
}

TEST_CASE("no device has more free than it has") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const MemoryInfo memory = device.memory();
  CHECK(memory.free_bytes <= memory.total_bytes);
  CHECK_FALSE(can_allocate(device, memory.total_bytes + 1));
  CHECK_THROWS_AS(allocate_safe(device, memory.total_bytes), Error);
  CHECK(allocate_safe(device, 4096).size_bytes() == 4096);
}
