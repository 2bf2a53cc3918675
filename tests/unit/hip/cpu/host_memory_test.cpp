// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "tool.hpp"

namespace hiptool::hip::cpu::test {
namespace {

TEST_CASE("host memory: accounting") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  const Accounting before = live_objects();
  void* pinned = nullptr;
  REQUIRE(api.hipHostMalloc(&pinned, 100, hipHostMallocMapped | hipHostMallocNonCoherent) ==
          hipSuccess);
  CHECK(live_objects().host_allocations == before.host_allocations + 1);
  std::vector<char> own(1000);
  REQUIRE(api.hipHostRegister(own.data(), own.size(), hipHostRegisterPortable) == hipSuccess);
  CHECK(live_objects().registrations == before.registrations + 1);
  CHECK(api.hipHostUnregister(own.data()) == hipSuccess);
  CHECK(api.hipHostFree(pinned) == hipSuccess);
}

TEST_CASE("host memory: flags that do not exist or exclude each other") {
  const Api& api = bound();
  void* pinned = nullptr;
  CHECK(api.hipHostMalloc(&pinned, 100, hipHostMallocCoherent | hipHostMallocNonCoherent) ==
        hipErrorInvalidValue);
  CHECK(api.hipHostMalloc(&pinned, 100, 0x100) == hipErrorInvalidValue);
  std::vector<char> own(100);
  CHECK(api.hipHostRegister(own.data(), 100, 0x100) == hipErrorInvalidValue);
}

TEST_CASE("host memory: registrations may touch but not overlap") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  std::vector<char> own(1000);
  const auto add = [&](std::size_t offset, std::size_t bytes) {
    return api.hipHostRegister(own.data() + offset, bytes, 0);
  };
  REQUIRE(add(100, 100) == hipSuccess);
  CHECK(add(100, 100) == hipErrorHostMemoryAlreadyRegistered);
  CHECK(add(150, 10) == hipErrorHostMemoryAlreadyRegistered);
  CHECK(add(199, 100) == hipErrorHostMemoryAlreadyRegistered);
  CHECK(add(50, 51) == hipErrorHostMemoryAlreadyRegistered);
  CHECK(add(0, 1000) == hipErrorHostMemoryAlreadyRegistered);
  CHECK(add(0, 100) == hipSuccess);
  CHECK(add(200, 800) == hipSuccess);
  CHECK(api.hipHostUnregister(own.data() + 150) == hipErrorHostMemoryNotRegistered);
  for (const std::ptrdiff_t offset : {0, 100, 200}) {
    CHECK(api.hipHostUnregister(own.data() + offset) == hipSuccess);
  }
}

TEST_CASE("host memory: what the platform allocated is not to be registered") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  void* const memory = make_memory(api, 1000);
  void* pinned = nullptr;
  REQUIRE(api.hipHostMalloc(&pinned, 1000, 0) == hipSuccess);
  CHECK(api.hipHostRegister(memory, 10, 0) == hipErrorInvalidValue);
  CHECK(api.hipHostRegister(pinned, 10, 0) == hipErrorHostMemoryAlreadyRegistered);
  CHECK(api.hipHostUnregister(pinned) == hipErrorHostMemoryNotRegistered);
  CHECK(api.hipFree(memory) == hipSuccess);
  CHECK(api.hipHostFree(pinned) == hipSuccess);
}

TEST_CASE("host memory: the device pointer is the host's") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  void* pinned = nullptr;
  REQUIRE(api.hipHostMalloc(&pinned, 1000, 0) == hipSuccess);
  void* device_pointer = nullptr;
  char* const inside = static_cast<char*>(pinned) + 10;
  CHECK(api.hipHostGetDevicePointer(&device_pointer, inside, 0) == hipSuccess);
  CHECK(device_pointer == inside);
  CHECK(api.hipHostGetDevicePointer(&device_pointer, inside, 1) == hipErrorInvalidValue);
  CHECK(api.hipHostFree(pinned) == hipSuccess);
}

TEST_CASE("host memory: an asynchronous copy with pageable memory is done when it returns") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  const hipStream_t stream = make_stream(api);
  constexpr std::size_t count = 8 << 20;
  void* const memory = make_memory(api, count);
  std::vector<char> host(count, 'a');
  CHECK(api.hipMemcpyAsync(memory, host.data(), count, hipMemcpyHostToDevice, stream) ==
        hipSuccess);
  CHECK(api.hipStreamQuery(stream) == hipSuccess);
  std::memset(host.data(), 0, count);
  CHECK(api.hipMemcpyAsync(host.data(), memory, count, hipMemcpyDeviceToHost, stream) ==
        hipSuccess);
  CHECK(host == std::vector<char>(count, 'a'));
  CHECK(api.hipFree(memory) == hipSuccess);
  CHECK(api.hipStreamDestroy(stream) == hipSuccess);
}

}  // namespace
}  // namespace hiptool::hip::cpu::test
