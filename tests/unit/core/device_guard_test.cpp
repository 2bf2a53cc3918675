// SPDX-License-Identifier: MIT
/// Calls of hipSetDevice by DeviceGuard and by the classes that use it, counted at the table.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fakes/cpus_as_vendors.hpp"
#include "hiptool/buffer.hpp"
#include "hiptool/device.hpp"
#include "hiptool/event.hpp"
#include "hiptool/stream.hpp"
#include "unit/core/wrapped_device.hpp"

using namespace hiptool;

namespace {

/// Two devices of a platform behind a counting table; the first is current at the start.
struct TwoDevices {
  TwoDevices()
      : binder(std::make_shared<test::WrapperBinder>(std::make_shared<test::CpusAsVendors>(2))),
        platforms(core::make_platforms({}, binder)),
        devices(platforms.devices(Platform::cpu)) {}

  std::uint64_t set_calls() const { return binder->table(Platform::cpu)->count("hipSetDevice"); }
  int current() const {
    int ordinal = -1;
    core::api_of(devices[0]).hipGetDevice(&ordinal);
    return ordinal;
  }

  std::shared_ptr<test::WrapperBinder> binder;
  Platforms platforms;
  std::vector<Device> devices;
};

}  // namespace

TEST_CASE("DeviceGuard makes no call for the current device, and two for another one") {
  const TwoDevices two;
  REQUIRE(two.current() == 0);
  const std::uint64_t before = two.set_calls();
  {
    const DeviceGuard same(two.devices[0]);
    const DeviceGuard again(two.devices[0]);
  }
  CHECK(two.set_calls() == before);
  {
    const DeviceGuard other(two.devices[1]);
    CHECK(two.set_calls() == before + 1);
    const DeviceGuard same(two.devices[1]);
    CHECK(two.set_calls() == before + 1);
  }
  CHECK(two.set_calls() == before + 2);
  CHECK(two.current() == 0);
}

TEST_CASE("eight threads set devices only when different, also after exceptions") {
  const TwoDevices two;
  const std::uint64_t before = two.set_calls();
  constexpr int threads = 8;
  constexpr int rounds = 200;
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&, i] {
        for (int round = 0; round < rounds; ++round) {
          try {
            const DeviceGuard same(two.devices[0]);
            const DeviceGuard outer(two.devices[1]);  // one call, and one to put back
            const DeviceGuard within(two.devices[1]);
            if (two.current() != 1) ++failures;
            if ((round + i) % 2 == 0) throw std::runtime_error("passes all guards");
          } catch (const std::runtime_error&) {
          }
          if (two.current() != 0) ++failures;
        }
      });
    }
  }
  CHECK(failures.load() == 0);
  CHECK(two.set_calls() == before + 2u * threads * rounds);
}

TEST_CASE("memory, streams and events of the current device set no device") {
  const TwoDevices two;
  const auto work_on = [](const Device& device) {
    const Stream stream(device);
    const Buffer buffer(device, 64);
    Event event(device, Event::Kind::ordering);
    event.record(stream);
    stream.synchronize();
  };
  const std::uint64_t before = two.set_calls();
  work_on(two.devices[0]);
  CHECK(two.set_calls() == before);
  work_on(two.devices[1]);
  const std::uint64_t of_other = two.set_calls() - before;
  CHECK(of_other > 0);
  CHECK(of_other % 2 == 0);  // each is put back
  CHECK(two.current() == 0);
}
