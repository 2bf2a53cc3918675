// SPDX-License-Identifier: MIT
#include "hiptool/device.hpp"

#include <doctest/doctest.h>

#include "core/platform_state.hpp"
#include "fake_modules.hpp"
#include "fakes/wrapper_table.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;

namespace {

struct PeerAccessFixture {
  std::shared_ptr<test::WrapperBinder> binder =
      std::make_shared<test::WrapperBinder>(std::make_shared<test::FakeModuleBinder>());
  Platforms platforms = core::make_platforms(two(), binder);
  std::vector<Device> devices = platforms.devices(Platform::cpu);
  test::WrapperTable& table = *binder->table(Platform::cpu);

  static Platforms::Options two() {
    Platforms::Options options;
    options.cpu_devices = 2;
    return options;
  }
  int current() const {
    int ordinal = -1;
    core::api_of(devices[0]).hipGetDevice(&ordinal);
    return ordinal;
  }
};

}  // namespace

TEST_CASE_FIXTURE(PeerAccessFixture,
                  "peer access is enabled once and taken back once, of each device") {
  CHECK(can_access_peer(devices[0], devices[1]));
  CHECK_FALSE(can_access_peer(devices[0], devices[0]));
  CHECK(enable_peer_access(devices[1], devices[0]));
  CHECK_FALSE(enable_peer_access(devices[1], devices[0]));
  CHECK_FALSE(disable_peer_access(devices[0], devices[1]));  // the other direction is its own
  CHECK(disable_peer_access(devices[1], devices[0]));
  CHECK_FALSE(disable_peer_access(devices[1], devices[0]));
  CHECK(current() == 0);
}

TEST_CASE_FIXTURE(PeerAccessFixture,
                  "other errors of the runtime are thrown with the peer's name") {
  table.fail("hipDeviceEnablePeerAccess", hip::hipErrorPeerAccessUnsupported);
  CHECK_THROWS_WITH_AS(enable_peer_access(devices[0], devices[1]),
                       doctest::Contains("hipDeviceEnablePeerAccess of memory of cpu:1 on cpu:0"),
                       Error);
  table.fail("hipDeviceDisablePeerAccess", hip::hipErrorUnknown);
  CHECK_THROWS_WITH_AS(disable_peer_access(devices[0], devices[1]),
                       doctest::Contains("hipDeviceDisablePeerAccess"), Error);
  table.fail("hipDeviceCanAccessPeer", hip::hipErrorUnknown);
  CHECK_THROWS_AS(static_cast<void>(can_access_peer(devices[0], devices[1])), Error);
}

TEST_CASE_FIXTURE(PeerAccessFixture, "devices of different platforms are not peers") {
  const Device foreign = platforms.devices(Platform::nvidia).front();
  const std::uint64_t before = table.total_count();
  CHECK_THROWS_WITH_AS(enable_peer_access(devices[0], foreign),
                       doctest::Contains("different platforms"), Error);
  CHECK_THROWS_AS(disable_peer_access(devices[0], foreign), Error);
  CHECK_THROWS_AS(static_cast<void>(can_access_peer(foreign, devices[0])), Error);
  CHECK(table.total_count() == before);
}
