// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "tool.hpp"
#include "waiting.hpp"

namespace hiptool::hip::cpu::test {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

char* shifted(void* base, std::size_t offset) { return static_cast<char*>(base) + offset; }

TEST_CASE("memory: accounting follows each allocation") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  const Accounting before = live_objects();
  void* device = make_memory(api, 100);
  void* large = make_memory(api, 5 * mib);
  void* managed = nullptr;
  REQUIRE(api.hipMallocManaged(&managed, 100, hipMemAttachGlobal) == hipSuccess);
  CHECK(live_objects().device_allocations == before.device_allocations + 3);
  for (void* const memory : {device, large, managed}) CHECK(api.hipFree(memory) == hipSuccess);
  CHECK(live_objects() == before);
}

TEST_CASE("memory: alignment by size") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, mib}) {
    void* const memory = make_memory(api, bytes);
    CHECK(number(memory) % 256 == 0);
    CHECK(api.hipFree(memory) == hipSuccess);
  }
  for (const std::size_t bytes : {2 * mib, 2 * mib + 1, 7 * mib + 4097}) {
    void* const memory = make_memory(api, bytes);
    CHECK(number(memory) % (2 * mib) == 0);
    std::memset(memory, 1, bytes);  // all of it is there
    CHECK(api.hipFree(memory) == hipSuccess);
  }
}

TEST_CASE("memory: no more than the machine has, alone or together") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  REQUIRE(api.hipMemGetInfo(&free_bytes, &total_bytes) == hipSuccess);
  void* memory = nullptr;
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {total_bytes + 1, most, most - 4096, most / 2}) {
    CHECK(api.hipMalloc(&memory, bytes) == hipErrorOutOfMemory);
  }
  std::vector<void*> pieces;
  hipError_t error = hipSuccess;
  for (int piece = 0; piece < 100 && error == hipSuccess; ++piece) {
    error = api.hipMalloc(&memory, total_bytes / 8);  // never touched
    if (error == hipSuccess) pieces.push_back(memory);
  }
  CHECK(error == hipErrorOutOfMemory);
  CHECK(pieces.size() <= 8);
  for (void* const piece : pieces) CHECK(api.hipFree(piece) == hipSuccess);
}

TEST_CASE("memory: only what hipMalloc gave can be freed") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  void* const memory = make_memory(api, 100);
  void* pinned = nullptr;
  REQUIRE(api.hipHostMalloc(&pinned, 100, 0) == hipSuccess);
  int own = 0;
  CHECK(api.hipFree(&own) == hipErrorInvalidValue);
  CHECK(api.hipFree(shifted(memory, 1)) == hipErrorInvalidValue);
  CHECK(api.hipFree(pinned) == hipErrorInvalidValue);
  CHECK(api.hipHostFree(memory) == hipErrorInvalidValue);
  CHECK(api.hipFree(memory) == hipSuccess);
  CHECK(api.hipFree(memory) == hipErrorInvalidValue);
  CHECK(api.hipHostFree(pinned) == hipSuccess);
  CHECK(api.hipHostFree(pinned) == hipErrorInvalidValue);
}

TEST_CASE("memory: a copy or fill may not run past the allocation's end") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  void* const memory = make_memory(api, 1000);
  std::vector<char> host(4000);
  const auto to_device = [&](std::size_t offset, std::size_t bytes) {
    return api.hipMemcpyAsync(shifted(memory, offset), host.data(), bytes, hipMemcpyHostToDevice,
                              nullptr);
  };
  CHECK(to_device(0, 1000) == hipSuccess);
  CHECK(to_device(0, 1001) == hipErrorInvalidValue);
  CHECK(to_device(999, 1) == hipSuccess);
  CHECK(to_device(999, 2) == hipErrorInvalidValue);
  CHECK(to_device(1, std::numeric_limits<std::size_t>::max()) == hipErrorInvalidValue);
  CHECK(api.hipMemcpyAsync(host.data(), shifted(memory, 1), 1000, hipMemcpyDeviceToHost, nullptr) ==
        hipErrorInvalidValue);
  CHECK(api.hipMemsetAsync(memory, 0, 1001, nullptr) == hipErrorInvalidValue);
  CHECK(api.hipMemsetAsync(memory, 0, 1000, nullptr) == hipSuccess);
  // 9 rows of 100 and a last one of 100 end exactly at 1000.
  const auto rows = [&](std::size_t width, std::size_t height, std::size_t pitch) {
    return api.hipMemcpy2DAsync(memory, pitch, host.data(), pitch, width, height,
                                hipMemcpyHostToDevice, nullptr);
  };
  CHECK(rows(100, 10, 100) == hipSuccess);
  CHECK(rows(100, 10, 101) == hipErrorInvalidValue);
  CHECK(rows(91, 10, 101) == hipSuccess);
  CHECK(rows(1, std::numeric_limits<std::size_t>::max(), 3) == hipErrorInvalidValue);
  CHECK(api.hipFree(memory) == hipSuccess);
}

TEST_CASE("memory: only known memory can be filled") {
  const Api& api = bound();
  std::vector<char> host(100, 'a');
  CHECK(api.hipMemsetAsync(host.data(), 0, 100, nullptr) == hipErrorInvalidValue);
  CHECK(host == std::vector<char>(100, 'a'));
}

TEST_CASE("memory: managed memory has a size, and one of two kinds") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  void* memory = nullptr;
  CHECK(api.hipMallocManaged(&memory, 0, hipMemAttachGlobal) == hipErrorInvalidValue);
  CHECK(api.hipMallocManaged(&memory, 100, 0) == hipErrorInvalidValue);
  REQUIRE(api.hipMallocManaged(&memory, 100, hipMemAttachGlobal) == hipSuccess);
  std::memset(memory, 1, 100);  // the host may write it
  CHECK(api.hipFree(memory) == hipSuccess);
}

TEST_CASE("memory: freeing waits for the device's queued work") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  const hipStream_t stream = make_stream(api);
  void* const memory = make_memory(api, 4 * mib);
  std::atomic<bool> is_freed{false};
  std::thread freeing;
  {
    Gate gate;
    gate.block(api, stream);
    REQUIRE(api.hipMemsetAsync(memory, 1, 4 * mib, stream) == hipSuccess);
    freeing = std::thread([&] { is_freed = api.hipFree(memory) == hipSuccess; });
    CHECK(hiptool::test::become_idle());
    CHECK_FALSE(is_freed);
    CHECK(gate.holds());
  }
  freeing.join();
  CHECK(is_freed);
  CHECK(api.hipStreamDestroy(stream) == hipSuccess);
}

}  // namespace
}  // namespace hiptool::hip::cpu::test
