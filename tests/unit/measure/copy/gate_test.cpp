// SPDX-License-Identifier: MIT
#include "measure/copy/gate.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "devices.hpp"
#include "waiting.hpp"

using namespace hiptool;
using namespace hiptool::measure;
using namespace std::chrono_literals;

TEST_CASE("gate: what is queued behind it begins when it opens") {
  const test::CpuDevices devices(1);
  DeviceTools tools(devices[0]);
  Gate gate(tools, 24h);
  REQUIRE(gate.can_close());
  const Stream stream(devices[0]);
  for (int round = 0; round < 3; ++round) {
    std::atomic<bool> has_run{false};
    gate.close(true);
    gate.hold(stream);
    stream.launch_host_function([&] { has_run = true; });
    CHECK(test::become_idle());
    CHECK_FALSE(has_run);
    CHECK_FALSE(gate.has_expired());
    gate.open();
    stream.synchronize();
    CHECK(has_run);
  }
}

TEST_CASE("gate: one that nobody opens opens itself and says so") {
  const test::CpuDevices devices(1);
  DeviceTools tools(devices[0]);
  Gate gate(tools, 5ms);
  const Stream stream(devices[0]);
  gate.close(true);
  gate.hold(stream);
  stream.synchronize();
  CHECK(gate.has_expired());
}

TEST_CASE("gate: it only marks the moment when it is not to hold") {
  const test::CpuDevices devices(1);
  DeviceTools tools(devices[0]);
  Gate gate(tools, 24h);
  const Stream stream(devices[0]);
  gate.close(false);
  gate.hold(stream);
  stream.synchronize();
  CHECK(gate.opened().is_done());
  CHECK_FALSE(gate.has_expired());
}

TEST_CASE("gate: closed when it goes, it opens first") {
  const test::CpuDevices devices(1);
  DeviceTools tools(devices[0]);
  const Stream stream(devices[0]);
  {
    Gate gate(tools, 24h);
    gate.close(true);
    gate.hold(stream);
  }
  stream.synchronize();
  CHECK(stream.is_done());
}

TEST_CASE("gate: a GPU without the kernel has none") {
  const test::CpuDevices gpus(1, Platform::nvidia);
  DeviceTools tools(gpus[0]);
  Gate gate(tools, 24h);
  CHECK_FALSE(gate.can_close());
  const Stream stream(gpus[0]);
  gate.close(true);
  gate.hold(stream);
  stream.synchronize();
  CHECK_FALSE(gate.has_expired());
}
