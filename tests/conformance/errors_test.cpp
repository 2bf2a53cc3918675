// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <thread>

#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

constexpr std::size_t absurd_bytes = std::size_t{1} << 46;

TEST_CASE("errors: names are HIP's own") {
  const auto name = [](hipError_t error) { return std::string(api().hipGetErrorName(error)); };
  CHECK(name(hipSuccess) == "hipSuccess");
  CHECK(name(hipErrorInvalidValue) == "hipErrorInvalidValue");
  CHECK(name(hipErrorOutOfMemory) == "hipErrorOutOfMemory");
  CHECK(name(hipErrorInvalidDevice) == "hipErrorInvalidDevice");
  CHECK(name(hipErrorInvalidHandle) == "hipErrorInvalidHandle");
  CHECK(name(hipErrorNotReady) == "hipErrorNotReady");
  CHECK(name(hipErrorHostMemoryAlreadyRegistered) == "hipErrorHostMemoryAlreadyRegistered");
  CHECK(name(hipErrorNotSupported) == "hipErrorNotSupported");
  CHECK(name(hipErrorUnknown) == "hipErrorUnknown");
  CHECK(name(static_cast<hipError_t>(12345)) == "hipErrorUnknown");
}

TEST_CASE("errors: each has a text") {
  for (const hipError_t error : {hipSuccess, hipErrorInvalidValue, hipErrorOutOfMemory,
                                 hipErrorIllegalAddress, static_cast<hipError_t>(12345)}) {
    const char* const text = api().hipGetErrorString(error);
    REQUIRE(text != nullptr);
    CHECK(std::string_view(text).size() > 3);
  }
}

TEST_CASE("errors: the last error stays until it is read") {
  // HIP 7.0: the last real error of the thread; success and "not ready" do not count.
  static_cast<void>(api().hipGetLastError());
  CHECK(api().hipGetLastError() == hipSuccess);
  void* pointer = nullptr;
  REQUIRE(api().hipMalloc(&pointer, absurd_bytes) == hipErrorOutOfMemory);
  int count = 0;
  REQUIRE(api().hipGetDeviceCount(&count) == hipSuccess);
  CHECK(api().hipGetLastError() == hipErrorOutOfMemory);
  CHECK(api().hipGetLastError() == hipSuccess);
}

TEST_CASE("errors: not ready is no error to keep") {
  const Stream stream;
  Gate gate;
  gate.block(stream.get());
  static_cast<void>(api().hipGetLastError());
  REQUIRE(api().hipStreamQuery(stream.get()) == hipErrorNotReady);
  CHECK(api().hipGetLastError() == hipSuccess);
}

TEST_CASE("errors: each thread has its own last error") {
  static_cast<void>(api().hipGetLastError());
  hipError_t raised = hipSuccess;
  hipError_t seen_there = hipSuccess;
  std::thread([&] {
    raised = api().hipSetDevice(-1);
    seen_there = api().hipGetLastError();
  }).join();
  CHECK(raised == hipErrorInvalidDevice);
  CHECK(seen_there == hipErrorInvalidDevice);
  CHECK(api().hipGetLastError() == hipSuccess);
}

}  // namespace
}  // namespace hiptool::conformance
