// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "under_test.hpp"

namespace hiptool::conformance {
namespace {

using namespace hip;

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

}  // namespace
}  // namespace hiptool::conformance
