// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstring>

#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

constexpr std::size_t far_too_many_bytes = std::size_t{1} << 46;  // 64 TiB

TEST_CASE("memory: zero bytes succeed with a null pointer, which can be freed") {
  // HIP API reference, hipMalloc: "If size is 0, no memory is allocated, *ptr returns nullptr, and
  // hipSuccess is returned." (CUDA's driver refuses it.)
  int object = 0;
  void* pointer = &object;
  CHECK(api().hipMalloc(&pointer, 0) == hipSuccess);
  CHECK(pointer == nullptr);
  pointer = &object;
  CHECK(api().hipHostMalloc(&pointer, 0, 0) == hipSuccess);
  CHECK(pointer == nullptr);
  CHECK(api().hipFree(nullptr) == hipSuccess);
  CHECK(api().hipHostFree(nullptr) == hipSuccess);
}

TEST_CASE("memory: a missing result pointer is an invalid value") {
  CHECK(api().hipMalloc(nullptr, 16) == hipErrorInvalidValue);
  CHECK(api().hipHostMalloc(nullptr, 16, 0) == hipErrorInvalidValue);
}

TEST_CASE("memory: round trips of odd sizes and offsets leave their surroundings alone") {
  constexpr std::size_t large_bytes = (std::size_t{64} << 20) + 13;
  constexpr int background = 0x5a;
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{255},
                                  std::size_t{4097}, (std::size_t{1} << 20) + 1, large_bytes}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{63}}) {
      CAPTURE(count);
      CAPTURE(offset);
      const DeviceMemory memory(offset + count + 7);
      memory.fill(background);
      const Bytes sent = random_bytes(count, static_cast<std::uint32_t>(count + offset));
      memory.write(sent, offset);

      Bytes expected(memory.size(), background);
      std::memcpy(expected.data() + offset, sent.data(), count);
      CHECK(memory.read() == expected);
    }
  }
}

TEST_CASE("memory: more than any machine has is out of memory, and nothing is broken by it") {
  void* pointer = nullptr;
  CHECK(api().hipMalloc(&pointer, far_too_many_bytes) == hipErrorOutOfMemory);
  const DeviceMemory memory(1000);
  const Bytes sent = random_bytes(1000, 3);
  memory.write(sent);
  CHECK(memory.read() == sent);
}

TEST_CASE("memory: freeing twice is an invalid value") {
  void* pointer = nullptr;
  REQUIRE(api().hipMalloc(&pointer, 4096) == hipSuccess);
  CHECK(api().hipFree(pointer) == hipSuccess);
  CHECK(api().hipFree(pointer) == hipErrorInvalidValue);
}

TEST_CASE("memory: what a device has") {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  REQUIRE(api().hipMemGetInfo(&free_bytes, &total_bytes) == hipSuccess);
  CHECK(free_bytes > 0);
  CHECK(free_bytes <= total_bytes);
  std::size_t device_bytes = 0;
  REQUIRE(api().hipDeviceTotalMem(&device_bytes, 0) == hipSuccess);
  CHECK(total_bytes <= device_bytes);
  CHECK(total_bytes > device_bytes / 2);
  CHECK(device_bytes > (std::size_t{64} << 20));
}

TEST_CASE("memory: a pointer's attributes") {
  const DeviceMemory memory(1 << 16);
  hipPointerAttribute_t found{};
  const hipError_t error = api().hipPointerGetAttributes(&found, memory.at(100));
  if (error == hipErrorNotSupported) return;
  REQUIRE(error == hipSuccess);
  CHECK(found.type == hipMemoryTypeDevice);
  CHECK(found.device == 0);
  CHECK(found.devicePointer == memory.at(100));
  CHECK(found.isManaged == 0);

  // HIP 6 and later: success with type "unregistered" (CUDA's driver: invalid value).
  const Bytes plain(100);
  found.type = hipMemoryTypeDevice;
  CHECK(api().hipPointerGetAttributes(&found, plain.data()) == hipSuccess);
  CHECK(found.type == hipMemoryTypeUnregistered);
  CHECK(api().hipPointerGetAttributes(nullptr, memory.at()) == hipErrorInvalidValue);
}

TEST_CASE("memory: the allocation around a pointer") {
  const DeviceMemory memory(100000);
  hipDeviceptr_t base = nullptr;
  std::size_t bytes = 0;
  const hipError_t error = api().hipMemGetAddressRange(&base, &bytes, memory.at(99999));
  if (error == hipErrorNotSupported) return;
  REQUIRE(error == hipSuccess);
  CHECK(base == memory.at());
  CHECK(bytes >= memory.size());
  const Bytes plain(100);
  const hipDeviceptr_t unknown = const_cast<std::uint8_t*>(plain.data());
  CHECK(api().hipMemGetAddressRange(&base, &bytes, unknown) != hipSuccess);
}

TEST_CASE("memory: bytes are set, and only those asked for") {
  const DeviceMemory memory(10001);
  const Stream stream;
  memory.fill(0x11);
  REQUIRE(api().hipMemsetAsync(memory.at(3), 0x1ab, 5001, stream.get()) == hipSuccess);
  REQUIRE(finishes(stream.get()));
  Bytes expected(memory.size(), 0x11);
  std::memset(expected.data() + 3, 0xab, 5001);  // only the low byte of the value counts
  CHECK(memory.read() == expected);
  CHECK(api().hipMemset(memory.at(), 1, 0) == hipSuccess);
  CHECK(api().hipMemsetAsync(memory.at(), 1, 0, stream.get()) == hipSuccess);
  REQUIRE(finishes(stream.get()));
  CHECK(memory.read() == expected);
}

TEST_CASE("memory: words are set, and only those asked for") {
  const DeviceMemory memory(4 * 1003);
  const Stream stream;
  memory.fill(0);
  const int value = 0x12345678;
  const hipError_t error = api().hipMemsetD32Async(memory.at(4), value, 1001, stream.get());
  if (error == hipErrorNotSupported) return;
  REQUIRE(error == hipSuccess);
  REQUIRE(finishes(stream.get()));
  Bytes expected(memory.size(), 0);
  for (std::size_t word = 1; word <= 1001; ++word) {
    std::memcpy(expected.data() + 4 * word, &value, sizeof(value));
  }
  CHECK(memory.read() == expected);
}

TEST_CASE("memory: stream ordered allocations hold what is written") {
  const Stream stream;
  constexpr std::size_t count = 100001;
  const PinnedMemory host(2 * count);
  const Bytes sent = random_bytes(count, 21);
  host.write(sent);
  void* pointer = nullptr;
  const hipError_t error = api().hipMallocAsync(&pointer, count, stream.get());
  if (error == hipErrorNotSupported) return;
  REQUIRE(error == hipSuccess);
  CHECK(api().hipMemcpyAsync(pointer, host.data(), count, hipMemcpyHostToDevice, stream.get()) ==
        hipSuccess);
  CHECK(api().hipMemcpyAsync(host.data() + count, pointer, count, hipMemcpyDeviceToHost,
                             stream.get()) == hipSuccess);
  CHECK(api().hipFreeAsync(pointer, stream.get()) == hipSuccess);
  REQUIRE(finishes(stream.get()));
  CHECK(Bytes(host.data() + count, host.data() + 2 * count) == sent);
  CHECK(api().hipFreeAsync(nullptr, stream.get()) == hipSuccess);  // HIP 7.0: success
}

}  // namespace
}  // namespace hiptool::conformance
