// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>

#include "hip/binding.hpp"
#include "tool.hpp"

namespace hiptool::hip::cpu::test {
namespace {

TEST_CASE("binding: the number of devices is checked") {
  for (const int count : {-1, 0, 65, 1000}) {
    BindRequest request;
    request.cpu_devices = count;
    const Binding binding = bind_cpu(request);
    CHECK(binding.api == nullptr);
    CHECK_FALSE(binding.status.usable);
    CHECK(binding.status.reason.find(std::to_string(count)) != std::string::npos);
  }
}

TEST_CASE("binding: says what it is") {
  const Binding binding = bind_cpu(BindRequest{});
  CHECK(binding.status.platform == Platform::cpu);
  CHECK(binding.status.usable);
  CHECK(binding.status.device_count == 1);
  CHECK(binding.status.library == "built in");
  CHECK_FALSE(binding.status.runtime_version.empty());
  CHECK(binding.status.reason.empty());
}

TEST_CASE("binding: each table keeps its own number of devices") {
  const Api& three = bound(3);
  const Api& one = bound(1);
  const Api& all = bound(64);
  int count = 0;
  CHECK(three.hipGetDeviceCount(&count) == hipSuccess);
  CHECK(count == 3);
  CHECK(one.hipGetDeviceCount(&count) == hipSuccess);
  CHECK(count == 1);
  CHECK(all.hipGetDeviceCount(&count) == hipSuccess);
  CHECK(count == 64);
  CHECK(one.hipSetDevice(1) == hipErrorInvalidDevice);
  CHECK(three.hipSetDevice(3) == hipErrorInvalidDevice);
  CHECK(three.hipSetDevice(2) == hipSuccess);
  CHECK(three.hipSetDevice(0) == hipSuccess);
}

TEST_CASE("binding: every required call is there") {
  const Api& api = bound();
  const Api unsupported = make_unsupported_api();
  Api::for_each([&](auto member, std::string_view name, Need need) {
    if (need != Need::required) return;
    CAPTURE(name);
    const bool is_own = api.*member != unsupported.*member;
    CHECK(is_own);
  });
}

TEST_CASE("binding: what a cpu has not is not supported") {
  const Api& api = bound();
  hipUUID uuid{};
  char text[64] = {};
  CHECK(api.hipDeviceGetUuid(&uuid, 0) == hipErrorNotSupported);
  CHECK(api.hipDeviceGetPCIBusId(text, 64, 0) == hipErrorNotSupported);
  CHECK(api.hipGetDevicePropertiesR0000(text, 0) == hipErrorNotSupported);
}

}  // namespace
}  // namespace hiptool::hip::cpu::test
