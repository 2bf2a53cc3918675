// SPDX-License-Identifier: MIT
#include "hip/nvidia/errors.hpp"

#include <doctest/doctest.h>

#include <string>

#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

CUresult name_803_only(CUresult error, const char** text) {
  *text = error == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : nullptr;
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

TEST_CASE("numbers pass through except those that mean something else in HIP") {
  for (const int number : {0, 1, 2, 100, 101, 201, 400, 600, 700, 719, 801, 803, 910, 913, 999}) {
    CHECK(translate(static_cast<CUresult>(number)) == number);
  }
  for (const int number : {911, 912, 916}) {
    CHECK(translate(static_cast<CUresult>(number)) == hipErrorUnknown);
  }
}

TEST_CASE("names are HIP's, then CUDA's, and never null") {
  const auto name = [](int number) -> std::string {
    return name_of(static_cast<hipError_t>(number));
  };
  CHECK(name(803) == "hipErrorUnknown");  // no driver to ask yet
  cuda().cuGetErrorName = name_803_only;
  cuda().cuGetErrorString = name_803_only;
  CHECK(name(2) == "hipErrorOutOfMemory");
  CHECK(name(999) == "hipErrorUnknown");
  CHECK(name(803) == "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
  CHECK(name(31415) == "hipErrorUnknown");
  CHECK(text_of(static_cast<hipError_t>(31415)) != nullptr);
  CHECK(describe(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) == "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)");
  CHECK(describe(CUDA_ERROR_NO_DEVICE) == "hipErrorNoDevice (100)");
  cuda() = {};
}

}  // namespace hiptool::hip::nvidia
