// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstring>

#include "sanitized.hpp"
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
  constexpr std::size_t large_bytes = (std::size_t{test::is_sanitized ? 8 : 64} << 20) + 13;
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

TEST_CASE("memory: bytes are set, and only those asked for") {
  const DeviceMemory memory(10001);
  const Stream stream;
  memory.fill(0x11);
  REQUIRE(api().hipMemsetAsync(memory.at(3), 0x1ab, 5001, stream.get()) == hipSuccess);
  REQUIRE(finishes(stream.get()));
  Bytes expected(memory.size(), 0x11);
  std::memset(expected.data() + 3, 0xab, 5001);  // only the low byte of the value counts
  CHECK(memory.read() == expected);
  CHECK(api().hipMemsetAsync(memory.at(), 1, 0, stream.get()) == hipSuccess);
  REQUIRE(finishes(stream.get()));
  CHECK(memory.read() == expected);
}

}  // namespace
}  // namespace hiptool::conformance
