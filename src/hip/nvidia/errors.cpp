// SPDX-License-Identifier: MIT
#include "hip/nvidia/errors.hpp"

#include <string_view>

#include "hip/error_names.hpp"
#include "hip/nvidia/driver.hpp"

namespace hiptool::hip::nvidia {
namespace {

bool is_hip_number(hipError_t error) noexcept {
  return error == hipErrorUnknown || std::string_view(error_name(error)) != "hipErrorUnknown";
}

/// For an unknown number the driver leaves the text null; before binding there is no driver.
const char* ask_driver(CUresult (*question)(CUresult, const char**), CUresult result) noexcept {
  const char* text = nullptr;
  if (question != nullptr) question(result, &text);
  return text;
}

}  // namespace

const char* name_of(hipError_t error) noexcept {
  if (is_hip_number(error)) return error_name(error);
  const char* name = ask_driver(cuda().cuGetErrorName, static_cast<CUresult>(error));
  return name != nullptr ? name : error_name(hipErrorUnknown);
}

const char* text_of(hipError_t error) noexcept {
  if (is_hip_number(error)) return error_text(error);
  const char* text = ask_driver(cuda().cuGetErrorString, static_cast<CUresult>(error));
  return text != nullptr ? text : error_text(hipErrorUnknown);
}

std::string describe(CUresult result) {
  const char* name = ask_driver(cuda().cuGetErrorName, result);
  return std::string(name != nullptr ? name : name_of(translate(result))) + " (" +
         std::to_string(static_cast<int>(result)) + ")";
}

}  // namespace hiptool::hip::nvidia
