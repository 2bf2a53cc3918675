// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tool.hpp"
#include "waiting.hpp"

namespace hiptool::hip::cpu::test {
namespace {

TEST_CASE("streams: a destroyed handle is invalid for each call, and stays so") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  void* const memory = make_memory(api, 100);
  hipEvent_t event = nullptr;
  REQUIRE(api.hipEventCreateWithFlags(&event, 0) == hipSuccess);
  const hipStream_t gone = make_stream(api);
  REQUIRE(api.hipStreamDestroy(gone) == hipSuccess);
  std::vector<hipStream_t> later;
  for (int index = 0; index < 50; ++index) later.push_back(make_stream(api));

  constexpr hipError_t invalid = hipErrorInvalidHandle;
  CHECK(api.hipStreamDestroy(gone) == invalid);
  CHECK(api.hipStreamQuery(gone) == invalid);
  CHECK(api.hipStreamSynchronize(gone) == invalid);
  CHECK(api.hipStreamWaitEvent(gone, event, 0) == invalid);
  CHECK(api.hipEventRecord(event, gone) == invalid);
  CHECK(api.hipMemcpyAsync(memory, memory, 10, hipMemcpyDefault, gone) == invalid);
  CHECK(api.hipMemsetAsync(memory, 0, 10, gone) == invalid);
  CHECK(api.hipLaunchHostFunc(
            gone, [](void*) {}, nullptr) == invalid);

  for (const hipStream_t stream : later) CHECK(api.hipStreamDestroy(stream) == hipSuccess);
  CHECK(api.hipEventDestroy(event) == hipSuccess);
  CHECK(api.hipFree(memory) == hipSuccess);
}

TEST_CASE("streams: destroying a busy one does not wait, and its work still runs") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  void* const memory = make_memory(api, 1000);
  std::memset(memory, 0, 1000);
  hipEvent_t event = nullptr;
  REQUIRE(api.hipEventCreateWithFlags(&event, 0) == hipSuccess);
  const hipStream_t stream = make_stream(api);
  {
    Gate gate;
    gate.block(api, stream);
    REQUIRE(api.hipMemsetAsync(memory, 7, 1000, stream) == hipSuccess);
    REQUIRE(api.hipEventRecord(event, stream) == hipSuccess);
    CHECK(api.hipStreamDestroy(stream) == hipSuccess);
    CHECK(gate.holds());
    CHECK(api.hipEventQuery(event) == hipErrorNotReady);
  }
  CHECK(api.hipDeviceSynchronize() == hipSuccess);  // knows of it although the handle is gone
  CHECK(api.hipEventQuery(event) == hipSuccess);
  std::vector<char> host(1000);
  CHECK(api.hipMemcpyAsync(host.data(), memory, 1000, hipMemcpyDeviceToHost, nullptr) ==
        hipSuccess);  // pageable: done when it returns
  CHECK(host == std::vector<char>(1000, 7));
  CHECK(api.hipEventDestroy(event) == hipSuccess);
  CHECK(api.hipFree(memory) == hipSuccess);
}

TEST_CASE("streams: the default stream is busy while a blocking stream is") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  const hipStream_t blocking = make_stream(api, hipStreamDefault);
  const hipStream_t non_blocking = make_stream(api, hipStreamNonBlocking);
  {
    Gate gate;
    gate.block(api, blocking);
    CHECK(api.hipStreamQuery(nullptr) == hipErrorNotReady);
    CHECK(api.hipStreamQuery(non_blocking) == hipSuccess);
  }
  CHECK(api.hipStreamSynchronize(nullptr) == hipSuccess);
  CHECK(api.hipStreamQuery(blocking) == hipSuccess);
  {
    Gate gate;
    gate.block(api, non_blocking);
    CHECK(api.hipStreamQuery(nullptr) == hipSuccess);
    CHECK(api.hipStreamSynchronize(nullptr) == hipSuccess);
    CHECK(gate.holds());
  }
  CHECK(api.hipStreamDestroy(blocking) == hipSuccess);
  CHECK(api.hipStreamDestroy(non_blocking) == hipSuccess);
}

TEST_CASE("streams: each device has a default stream of its own") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound(2);
  {
    Gate gate;
    gate.block(api, nullptr);
    REQUIRE(api.hipSetDevice(1) == hipSuccess);
    CHECK(api.hipStreamQuery(nullptr) == hipSuccess);
    CHECK(api.hipDeviceSynchronize() == hipSuccess);
    CHECK(gate.holds());
    REQUIRE(api.hipSetDevice(0) == hipSuccess);
    CHECK(api.hipStreamQuery(nullptr) == hipErrorNotReady);
  }
  CHECK(api.hipDeviceSynchronize() == hipSuccess);
}

TEST_CASE("streams: the device is synchronized when all its streams are done") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  const hipStream_t stream = make_stream(api);
  std::atomic<bool> is_synchronized{false};
  std::thread waiting;
  {
    Gate gate;
    gate.block(api, stream);
    waiting = std::thread([&] { is_synchronized = api.hipDeviceSynchronize() == hipSuccess; });
    CHECK(hiptool::test::become_idle());
    CHECK_FALSE(is_synchronized);
  }
  waiting.join();
  CHECK(is_synchronized);
  CHECK(api.hipStreamDestroy(stream) == hipSuccess);
}

}  // namespace
}  // namespace hiptool::hip::cpu::test
