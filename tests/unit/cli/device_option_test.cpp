// SPDX-License-Identifier: MIT
#include "cli/device_option.hpp"

#include <doctest/doctest.h>

#include "core/platform_state.hpp"
#include "harness.hpp"
#include "hiptool/error.hpp"
#include "machine/selection.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

std::string ids_of(int gpus, const machine::DeviceSelection& selection) {
  Platforms platforms =
      core::make_platforms(Platforms::Options{}, std::make_shared<FakeBinder>(gpus));
  std::string ids;
  for (const Device& device : choose_devices(platforms, selection)) ids += device.id() + " ";
  return ids;
}

ErrorCode failure(int gpus, const machine::DeviceSelection& selection) {
  try {
    ids_of(gpus, selection);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

}  // namespace

TEST_CASE("devices by id, in the order given, each once") {
  CHECK(ids_of(2, {{"nvidia:1", "cpu", "nvidia:1", "cpu:0"}, {}}) == "nvidia:1 cpu:0 ");
}

TEST_CASE("all is every GPU; of one platform, all of it") {
  CHECK(ids_of(2, {{"all"}, {}}) == "nvidia:0 nvidia:1 ");
  CHECK(ids_of(2, {{"nvidia:1", "all"}, {}}) == "nvidia:1 nvidia:0 ");
  CHECK(ids_of(2, {{"all"}, Platform::cpu}) == "cpu:0 cpu:1 ");
}

TEST_CASE("without an id: the first GPU, or the first of the platform") {
  CHECK(ids_of(2, {}) == "nvidia:0 ");
  CHECK(ids_of(2, {{}, Platform::cpu}) == "cpu:0 ");
}

TEST_CASE("unusable devices and platforms are rejected") {
  CHECK(failure(0, {{"nvidia:0"}, {}}) == ErrorCode::unavailable);
  CHECK(failure(1, {{"nvidia:1"}, {}}) == ErrorCode::unavailable);
  CHECK(failure(1, {{}, Platform::amd}) == ErrorCode::unavailable);
  CHECK(failure(1, {{"all"}, Platform::amd}) == ErrorCode::unavailable);
  CHECK(failure(1, {{"cpu"}, Platform::nvidia}) == ErrorCode::invalid_argument);
}

TEST_CASE("an unusable platform is refused with its reason and hint") {
  try {
    ids_of(0, {{}, Platform::amd});
    FAIL("was accepted");
  } catch (const Error& error) {
    CHECK(contains(error.what(), "no runtime library was found"));
    CHECK(error.hint() == "install it");
  }
}

TEST_CASE("lists of devices") {
  CHECK(parse_device_ids({"cpu,nvidia:0", "all"}, "--device") ==
        std::vector<std::string>{"cpu", "nvidia:0", "all"});
  for (const char* text : {"", ",", "cpu,", ",cpu", "cpu,,cpu"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_device_ids({text}, "--device"), Error);
  }
}

TEST_CASE("a range of devices, as output names neighbours, is each of them") {
  using Ids = std::vector<std::string>;
  CHECK(parse_device_ids({"nvidia:0-2"}, "--device") == Ids{"nvidia:0", "nvidia:1", "nvidia:2"});
  CHECK(parse_device_ids({"cpu:1-1,NVIDIA:9-10", "amd:0"}, "--device") ==
        Ids{"cpu:1", "nvidia:9", "nvidia:10", "amd:0"});
  CHECK(parse_device_ids({"amd:0-1, amd:3"}, "--device") == Ids{"amd:0", "amd:1", "amd:3"});
  CHECK(parse_device_ids({"GPU-8d2f4c8a-11", "0000:65:00.0", "nvidia:-1"}, "--device") ==
        Ids{"GPU-8d2f4c8a-11", "0000:65:00.0", "nvidia:-1"});
  CHECK(parse_device_ids({"nvidia:4294967294-4294967295"}, "--device").back() ==
        "nvidia:4294967295");
  for (const char* text : {"nvidia:3-0", "nvidia:0-", "nvidia:0-x", "cpu:0-1-2", "amd:0-1024",
                           "amd:0-4294967295", "nvidia:0-nvidia:7"}) {
    CAPTURE(std::string(text));
    CHECK_THROWS_WITH_AS(parse_device_ids({text}, "--device"),
                         doctest::Contains("is not a range of devices"), Error);
  }
  CHECK(ids_of(3, {parse_device_ids({"nvidia:0-2"}, "--device"), {}}) ==
        "nvidia:0 nvidia:1 nvidia:2 ");
}

TEST_CASE("platforms by name") {
  CHECK(parse_platform("nvidia") == Platform::nvidia);
  CHECK_THROWS_AS(parse_platform("intel"), Error);
}
