// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "tool.hpp"

namespace hiptool::hip::cpu::test {
namespace {

TEST_CASE("events: accounting follows them") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  const std::size_t before = live_objects().events;
  hipEvent_t event = nullptr;
  REQUIRE(api.hipEventCreateWithFlags(&event, hipEventBlockingSync) == hipSuccess);
  CHECK(live_objects().events == before + 1);
  CHECK(api.hipEventDestroy(event) == hipSuccess);
}

TEST_CASE("events: a destroyed handle is invalid for each call") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  const hipStream_t stream = make_stream(api);
  hipEvent_t gone = nullptr;
  hipEvent_t other = nullptr;
  REQUIRE(api.hipEventCreateWithFlags(&gone, 0) == hipSuccess);
  REQUIRE(api.hipEventDestroy(gone) == hipSuccess);
  REQUIRE(api.hipEventCreateWithFlags(&other, 0) == hipSuccess);
  CHECK(other != gone);
  for (const hipEvent_t event : {gone, hipEvent_t{nullptr}}) {
    CHECK(api.hipEventDestroy(event) == hipErrorInvalidHandle);
    CHECK(api.hipEventRecord(event, stream) == hipErrorInvalidHandle);
    CHECK(api.hipEventQuery(event) == hipErrorInvalidHandle);
    CHECK(api.hipEventSynchronize(event) == hipErrorInvalidHandle);
    CHECK(api.hipStreamWaitEvent(stream, event, 0) == hipErrorInvalidHandle);
    float elapsed_ms = 0;
    CHECK(api.hipEventElapsedTime(&elapsed_ms, event, other) == hipErrorInvalidHandle);
    CHECK(api.hipEventElapsedTime(&elapsed_ms, other, event) == hipErrorInvalidHandle);
  }
  CHECK(api.hipEventDestroy(other) == hipSuccess);
  CHECK(api.hipStreamDestroy(stream) == hipSuccess);
}

TEST_CASE("events: flags that do not exist or do not go together") {
  const Api& api = bound();
  hipEvent_t event = nullptr;
  CHECK(api.hipEventCreateWithFlags(&event, 0x100) == hipErrorInvalidValue);
  CHECK(api.hipEventCreateWithFlags(&event, hipEventInterprocess) == hipErrorInvalidValue);
  constexpr unsigned release_to_system = 0x80000000;
  REQUIRE(api.hipEventCreateWithFlags(&event, release_to_system) == hipSuccess);
  CHECK(api.hipEventDestroy(event) == hipSuccess);
}

TEST_CASE("events: a record outlives its stream") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  hipEvent_t start = nullptr;
  hipEvent_t stop = nullptr;
  REQUIRE(api.hipEventCreateWithFlags(&start, 0) == hipSuccess);
  REQUIRE(api.hipEventCreateWithFlags(&stop, 0) == hipSuccess);
  for (const hipEvent_t event : {start, stop}) {
    const hipStream_t stream = make_stream(api);
    REQUIRE(api.hipEventRecord(event, stream) == hipSuccess);
    REQUIRE(api.hipStreamDestroy(stream) == hipSuccess);
    CHECK(api.hipEventSynchronize(event) == hipSuccess);
  }
  float elapsed_ms = -1;
  CHECK(api.hipEventElapsedTime(&elapsed_ms, start, stop) == hipSuccess);
  CHECK(elapsed_ms > 0);
  CHECK(api.hipEventDestroy(start) == hipSuccess);
  CHECK(api.hipEventDestroy(stop) == hipSuccess);
}

TEST_CASE("events: waits in a circle of streams do not hang") {
  const NothingLeaks nothing_leaks;
  const Api& api = bound();
  const hipStream_t first = make_stream(api, hipStreamDefault);
  const hipStream_t second = make_stream(api, hipStreamDefault);
  hipEvent_t event = nullptr;
  REQUIRE(api.hipEventCreateWithFlags(&event, hipEventDisableTiming) == hipSuccess);
  for (int round = 0; round < 100; ++round) {
    CHECK(api.hipEventRecord(event, first) == hipSuccess);
    CHECK(api.hipStreamWaitEvent(second, event, 0) == hipSuccess);
    CHECK(api.hipEventRecord(event, nullptr) == hipSuccess);
    CHECK(api.hipEventRecord(event, second) == hipSuccess);
    CHECK(api.hipStreamWaitEvent(first, event, 0) == hipSuccess);
  }
  CHECK(api.hipDeviceSynchronize() == hipSuccess);
  CHECK(api.hipEventDestroy(event) == hipSuccess);
  CHECK(api.hipStreamDestroy(first) == hipSuccess);
  CHECK(api.hipStreamDestroy(second) == hipSuccess);
}

}  // namespace
}  // namespace hiptool::hip::cpu::test
