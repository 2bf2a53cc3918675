// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "cases.hpp"
#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

int attribute(hipDeviceAttribute_t which, int ordinal = 0) {
  int value = -1;
  CAPTURE(which);
  CHECK(api().hipDeviceGetAttribute(&value, which, ordinal) == hipSuccess);
  return value;
}

TEST_CASE("devices: the count agrees with the binding") {
  int count = -1;
  REQUIRE(api().hipGetDeviceCount(&count) == hipSuccess);
  CHECK(count == under_test().device_count);
  CHECK(count >= 1);
}

TEST_CASE("devices: versions are known") {
  int runtime = 0;
  int driver = 0;
  CHECK(api().hipRuntimeGetVersion(&runtime) == hipSuccess);
  CHECK(api().hipDriverGetVersion(&driver) == hipSuccess);
  CHECK(runtime > 0);
  CHECK(driver > 0);
}

TEST_CASE("devices: one that does not exist cannot be chosen, the current one stays") {
  int before = -1;
  REQUIRE(api().hipGetDevice(&before) == hipSuccess);
  CHECK(api().hipSetDevice(-1) == hipErrorInvalidDevice);
  CHECK(api().hipSetDevice(under_test().device_count) == hipErrorInvalidDevice);
  int after = -1;
  REQUIRE(api().hipGetDevice(&after) == hipSuccess);
  CHECK(after == before);
  int value = 0;
  CHECK(api().hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize,
                                    under_test().device_count) == hipErrorInvalidDevice);
  CHECK(api().hipGetDevice(nullptr) == hipErrorInvalidValue);
}

TEST_CASE("devices: each thread has its own current device and starts on the first") {
  int start = -1;
  std::thread([&] { static_cast<void>(api().hipGetDevice(&start)); }).join();
  CHECK(start == 0);
  if (lacks_second_device()) return;
  REQUIRE(api().hipSetDevice(1) == hipSuccess);
  int there = -1;
  std::thread([&] { static_cast<void>(api().hipGetDevice(&there)); }).join();
  CHECK(there == 0);
  int here = -1;
  CHECK(api().hipGetDevice(&here) == hipSuccess);
  CHECK(here == 1);
  CHECK(api().hipSetDevice(0) == hipSuccess);
}

TEST_CASE("devices: names") {
  for (int ordinal = 0; ordinal < under_test().device_count; ++ordinal) {
    std::array<char, 256> name{};
    REQUIRE(api().hipDeviceGetName(name.data(), static_cast<int>(name.size()), ordinal) ==
            hipSuccess);
    CHECK(std::string(name.data()).size() >= 3);
  }
}

TEST_CASE("devices: the property struct names the device and its architecture") {
  alignas(8) std::array<char, property_buffer_bytes> properties{};
  const PropertyLayout* layout = &property_layout_r0600;
  hipError_t error = api().hipGetDevicePropertiesR0600(properties.data(), 0);
  if (error == hipErrorNotSupported) {
    layout = &property_layout_r0000;
    error = api().hipGetDevicePropertiesR0000(properties.data(), 0);
  }
  REQUIRE(error == hipSuccess);
  CHECK(std::string(properties.data() + layout->name_offset).size() >= 3);
  CHECK(std::string(properties.data() + layout->gcn_arch_name_offset).size() >= 3);
  for (std::size_t index = layout->size_bytes; index < properties.size(); ++index) {
    if (properties[index] != 0) FAIL("written behind the struct's end");
  }
}

TEST_CASE("devices: attributes that each platform must know") {
  for (int ordinal = 0; ordinal < under_test().device_count; ++ordinal) {
    const int warp = attribute(hipDeviceAttributeWarpSize, ordinal);
    CHECK((warp == 32 || warp == 64));
    CHECK(attribute(hipDeviceAttributeMultiprocessorCount, ordinal) >= 1);
    const int threads = attribute(hipDeviceAttributeMaxThreadsPerBlock, ordinal);
    CHECK(threads >= 256);
    CHECK(threads <= 65536);
    CHECK(attribute(hipDeviceAttributeMaxBlockDimX, ordinal) >= warp);
    CHECK(attribute(hipDeviceAttributeMaxGridDimX, ordinal) >= 65535);
    CHECK(attribute(hipDeviceAttributeMaxSharedMemoryPerBlock, ordinal) >= 16 * 1024);
    const int integrated = attribute(hipDeviceAttributeIntegrated, ordinal);
    CHECK((integrated == 0 || integrated == 1));
    const int unified = attribute(hipDeviceAttributeUnifiedAddressing, ordinal);
    CHECK(unified == 1);
  }
}

TEST_CASE("devices: an attribute that does not exist is an error") {
  int value = 0;
  const auto unknown = static_cast<hipDeviceAttribute_t>(987654);
  CHECK(api().hipDeviceGetAttribute(&value, unknown, 0) != hipSuccess);
  CHECK(api().hipDeviceGetAttribute(nullptr, hipDeviceAttributeWarpSize, 0) ==
        hipErrorInvalidValue);
}

TEST_CASE("devices: peers") {
  int can_access = -1;
  const hipError_t error = api().hipDeviceCanAccessPeer(&can_access, 0, 0);
  if (error == hipErrorNotSupported) return test::skip_case("the runtime knows no peers");
  REQUIRE(error == hipSuccess);
  CHECK(can_access == 0);  // a device is not a peer of itself
  const int none = under_test().device_count;
  CHECK(api().hipDeviceCanAccessPeer(&can_access, 0, none) == hipErrorInvalidDevice);
  if (lacks_second_device()) return;
  REQUIRE(api().hipDeviceCanAccessPeer(&can_access, 0, 1) == hipSuccess);
  if (can_access == 0) return test::skip_case("device 0 cannot access the memory of device 1");
  CHECK(api().hipDeviceDisablePeerAccess(1) == hipErrorPeerAccessNotEnabled);
  CHECK(api().hipDeviceEnablePeerAccess(1, 0) == hipSuccess);
  CHECK(api().hipDeviceEnablePeerAccess(1, 0) == hipErrorPeerAccessAlreadyEnabled);
  CHECK(api().hipDeviceDisablePeerAccess(1) == hipSuccess);
  CHECK(api().hipDeviceDisablePeerAccess(1) == hipErrorPeerAccessNotEnabled);
}

}  // namespace
}  // namespace hiptool::conformance
