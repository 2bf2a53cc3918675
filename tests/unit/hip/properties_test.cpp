// SPDX-License-Identifier: MIT
#include "hip/properties.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace hiptool::hip {
namespace {

/// What the fake calls below write, the way a runtime does: by the offsets of the published structs
/// (792 and 1472 bytes), written out here a second time on purpose.
struct Blob {
  std::string_view name = "AMD Instinct MI300X";
  std::string_view arch = "gfx942:sramecc+:xnack-";
  std::int32_t warp_size = 64;
};
Blob blob;

void put(void* properties, std::size_t offset, const void* data, std::size_t size) {
  std::memcpy(static_cast<char*>(properties) + offset, data, size);
}

hipError_t write_r0000(void* properties, int ordinal) {
  if (ordinal != 0) return hipErrorInvalidDevice;
  std::memset(properties, 0xAB, 792);
  put(properties, blob.name.size(), "\0", 1);
  put(properties, 0, blob.name.data(), blob.name.size());
  put(properties, 276, &blob.warp_size, 4);
  put(properties, 396, blob.arch.data(), blob.arch.size());
  put(properties, 396 + blob.arch.size(), "\0", 1);
  return hipSuccess;
}

hipError_t write_r0600(void* properties, int ordinal) {
  if (ordinal != 0) return hipErrorInvalidDevice;
  std::memset(properties, 0xAB, 1472);
  put(properties, 0, blob.name.data(), blob.name.size());
  put(properties, blob.name.size(), "\0", 1);
  put(properties, 308, &blob.warp_size, 4);
  put(properties, 1160, blob.arch.data(), blob.arch.size());
  put(properties, 1160 + blob.arch.size(), "\0", 1);
  return hipSuccess;
}

Api make_api(bool has_r0000, bool has_r0600) {
  blob = {};
  Api api = make_unsupported_api();
  if (has_r0000) api.hipGetDevicePropertiesR0000 = write_r0000;
  if (has_r0600) api.hipGetDevicePropertiesR0600 = write_r0600;
  return api;
}

}  // namespace

TEST_CASE("names are read from the layout whose call is there") {
  for (const bool is_new : {false, true}) {
    CAPTURE(is_new);
    const auto names = read_device_names(make_api(!is_new, is_new), 0);
    REQUIRE(names);
    CHECK(names->name == "AMD Instinct MI300X");
    CHECK(names->arch == "gfx942");
  }
}

TEST_CASE("the new layout wins where both calls are there") {
  Api api = make_api(false, true);
  api.hipGetDevicePropertiesR0000 = [](void*, int) {
    FAIL("the old call was made");
    return hipErrorUnknown;
  };
  CHECK(read_device_names(api, 0));
}

TEST_CASE("a text that fills its field ends there") {
  const Api api = make_api(false, true);
  const std::string longest(256, 'x');
  blob.name = longest;
  blob.arch = "gfx90a";
  const auto names = read_device_names(api, 0);
  REQUIRE(names);
  CHECK(names->name.size() == 256);
  CHECK(names->arch == "gfx90a");
}

TEST_CASE("nothing is believed of a struct that is not sane") {
  const Api api = make_api(true, true);
  SUBCASE("warp size") { blob.warp_size = 1024; }
  SUBCASE("unprintable name") { blob.name = "AMD\x01"; }
  SUBCASE("empty name") { blob.name = ""; }
  SUBCASE("unprintable architecture") { blob.arch = "gfx\xFF"; }
  CHECK_FALSE(read_device_names(api, 0));
}

TEST_CASE("a failing call gives nothing") {
  CHECK_FALSE(read_device_names(make_api(true, true), 5));
  CHECK_FALSE(read_device_names(make_api(true, false), 5));
  CHECK_FALSE(read_device_names(make_api(false, false), 0));
}

}  // namespace hiptool::hip
