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
  CHECK(parse_platform("nvidia") == Platform::nvidia);
  CHECK_THROWS_AS(parse_platform("intel"), Error);
}
