// SPDX-License-Identifier: MIT
#include "hip/error_names.hpp"

#include <doctest/doctest.h>

#include <string>

namespace hiptool::hip {
namespace {

TEST_CASE("error names: known numbers have HIP's name and a sentence") {
  CHECK(std::string(error_name(hipSuccess)) == "hipSuccess");
  CHECK(std::string(error_name(hipErrorOutOfMemory)) == "hipErrorOutOfMemory");
  CHECK(std::string(error_name(hipErrorECCNotCorrectable)) == "hipErrorECCNotCorrectable");
  CHECK(std::string(error_name(hipErrorCooperativeLaunchTooLarge)) ==
        "hipErrorCooperativeLaunchTooLarge");
  CHECK(std::string(error_name(static_cast<hipError_t>(1053))) == "hipErrorRuntimeOther");
  CHECK(std::string(error_text(hipErrorNotReady)) == "the work is not done yet");
}

TEST_CASE("error names: unknown numbers do too") {
  for (const int number : {-1, 10, 998, 1054, 123456}) {
    CHECK(std::string(error_name(static_cast<hipError_t>(number))) == "hipErrorUnknown");
    CHECK(std::string(error_text(static_cast<hipError_t>(number))) == "unknown error");
  }
}

}  // namespace
}  // namespace hiptool::hip
