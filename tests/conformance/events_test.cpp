// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;
using Clock = std::chrono::steady_clock;

constexpr milliseconds pause{30};

TEST_CASE("events: one that was never recorded is ready but has no time") {
  // HIP API, hipEventQuery: hipSuccess if hipEventRecord "was not called on the event";
  // hipEventElapsedTime: hipErrorInvalidHandle if it "has not been called on either event".
  const Event first;
  const Event second;
  CHECK(api().hipEventQuery(first.get()) == hipSuccess);
  CHECK(api().hipEventSynchronize(first.get()) == hipSuccess);
  float elapsed_ms = -1;
  CHECK(api().hipEventElapsedTime(&elapsed_ms, first.get(), second.get()) == hipErrorInvalidHandle);
  const Stream stream;
  REQUIRE(api().hipEventRecord(first.get(), stream.get()) == hipSuccess);
  REQUIRE(finishes(first.get()));
  CHECK(api().hipEventElapsedTime(&elapsed_ms, first.get(), second.get()) == hipErrorInvalidHandle);
}

TEST_CASE("events: an unfinished one is not ready and has no time yet") {
  // HIP API, hipEventElapsedTime: hipErrorNotReady where hipEventQuery would return it.
  const Stream stream;
  const Event first;
  const Event second;
  REQUIRE(api().hipEventRecord(first.get(), stream.get()) == hipSuccess);
  REQUIRE(finishes(first.get()));
  Gate gate;
  gate.block(stream.get());
  REQUIRE(api().hipEventRecord(second.get(), stream.get()) == hipSuccess);
  CHECK(stays_busy(second.get()));
  float elapsed_ms = -1;
  CHECK(api().hipEventElapsedTime(&elapsed_ms, first.get(), second.get()) == hipErrorNotReady);
  CHECK(gate.holds());
  gate.open();
  REQUIRE(finishes(second.get()));
  CHECK(api().hipEventSynchronize(second.get()) == hipSuccess);
  CHECK(api().hipEventElapsedTime(&elapsed_ms, first.get(), second.get()) == hipSuccess);
  CHECK(elapsed_ms > 0);
}

TEST_CASE("events: without timing there is no time") {
  // HIP API, hipEventElapsedTime: "If hipEventRecord() has not been called on either
  // event, or hipEventDisableTiming was specified, hipErrorInvalidHandle is returned."
  const Stream stream;
  const Event timed;
  const Event untimed(hipEventDisableTiming);
  REQUIRE(api().hipEventRecord(timed.get(), stream.get()) == hipSuccess);
  REQUIRE(api().hipEventRecord(untimed.get(), stream.get()) == hipSuccess);
  REQUIRE(finishes(untimed.get()));
  float elapsed_ms = -1;
  CHECK(api().hipEventElapsedTime(&elapsed_ms, timed.get(), untimed.get()) ==
        hipErrorInvalidHandle);
  CHECK(api().hipEventElapsedTime(&elapsed_ms, untimed.get(), timed.get()) ==
        hipErrorInvalidHandle);
}

TEST_CASE("events: the time between two agrees with the wall clock") {
  // HIP API, hipEventElapsedTime: "Time is computed in ms", with a resolution of about 1 us.
  const Stream stream;
  const Event start;
  const Event stop;
  const auto wall_start = Clock::now();
  REQUIRE(api().hipEventRecord(start.get(), stream.get()) == hipSuccess);
  REQUIRE(api().hipLaunchHostFunc(
              stream.get(), [](void*) { std::this_thread::sleep_for(pause); }, nullptr) ==
          hipSuccess);
  REQUIRE(api().hipEventRecord(stop.get(), stream.get()) == hipSuccess);
  REQUIRE(finishes(stop.get()));
  const std::chrono::duration<float, std::milli> wall = Clock::now() - wall_start;
  float elapsed_ms = 0;
  REQUIRE(api().hipEventElapsedTime(&elapsed_ms, start.get(), stop.get()) == hipSuccess);
  // Two clocks: one part in a hundred and a tenth of a millisecond between them.
  CHECK(elapsed_ms >= 0.99F * static_cast<float>(pause.count()) - 0.1F);
  CHECK(elapsed_ms <= 1.01F * wall.count() + 0.1F);
}

TEST_CASE("events: a copy takes time") {
  // HIP API, hipEventElapsedTime: events record "after all previous commands in that stream".
  constexpr std::size_t count = 64 << 20;
  const PinnedMemory host(count);
  const DeviceMemory memory(count);
  const Stream stream;
  const Event start;
  const Event stop;
  REQUIRE(api().hipEventRecord(start.get(), stream.get()) == hipSuccess);
  REQUIRE(api().hipMemcpyAsync(memory.at(), host.data(), count, hipMemcpyHostToDevice,
                               stream.get()) == hipSuccess);
  REQUIRE(api().hipEventRecord(stop.get(), stream.get()) == hipSuccess);
  REQUIRE(finishes(stop.get()));
  float elapsed_ms = 0;
  REQUIRE(api().hipEventElapsedTime(&elapsed_ms, start.get(), stop.get()) == hipSuccess);
  CHECK(elapsed_ms > 0.05F);  // 64 MiB at more than 1.3 TB/s does not exist
}

TEST_CASE("events: one can be destroyed while its recording is pending") {
  // HIP API, hipEventDestroy: while it records, "the function will return immediately".
  const Stream stream;
  Gate gate;
  gate.block(stream.get());
  {
    const Event event;
    REQUIRE(api().hipEventRecord(event.get(), stream.get()) == hipSuccess);
  }
  CHECK(gate.holds());
  gate.open();
  CHECK(finishes(stream.get()));
}

TEST_CASE("events: missing handles and results") {
  // HIP API, hipEventCreateWithFlags and hipEventElapsedTime list hipErrorInvalidValue.
  const Event event;
  CHECK(api().hipEventCreateWithFlags(nullptr, 0) == hipErrorInvalidValue);
  CHECK(api().hipEventElapsedTime(nullptr, event.get(), event.get()) == hipErrorInvalidValue);
}

TEST_CASE("events: recording needs a stream of the same device") {
  // HIP API, hipEventRecord and hipEventElapsedTime list hipErrorInvalidHandle; CUDA driver API,
  // cuEventRecord: event and stream "must be from the same context".
  if (lacks_second_device()) return;
  const Event here;
  REQUIRE(api().hipSetDevice(1) == hipSuccess);
  {
    const Stream there;
    const Event also_there;
    CHECK(api().hipEventRecord(here.get(), there.get()) == hipErrorInvalidHandle);
    REQUIRE(api().hipEventRecord(also_there.get(), there.get()) == hipSuccess);
    REQUIRE(finishes(also_there.get()));
    // Waiting across devices is what events are for.
    REQUIRE(api().hipSetDevice(0) == hipSuccess);
    const Stream stream;
    CHECK(api().hipStreamWaitEvent(stream.get(), also_there.get(), 0) == hipSuccess);
    CHECK(finishes(stream.get()));
    REQUIRE(api().hipEventRecord(here.get(), stream.get()) == hipSuccess);
    REQUIRE(finishes(here.get()));
    float elapsed_ms = 0;
    CHECK(api().hipEventElapsedTime(&elapsed_ms, here.get(), also_there.get()) ==
          hipErrorInvalidHandle);
  }
  CHECK(api().hipSetDevice(0) == hipSuccess);
}

}  // namespace
}  // namespace hiptool::conformance
