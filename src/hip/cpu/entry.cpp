// SPDX-License-Identifier: MIT
#include "hip/cpu/entry.hpp"

#include <utility>

#include "hip/error_names.hpp"

namespace hiptool::hip::cpu {
namespace {

thread_local hipError_t last_error = hipSuccess;

hipError_t hipGetLastError() { return std::exchange(last_error, hipSuccess); }

const char* hipGetErrorName(hipError_t error) { return error_name(error); }

const char* hipGetErrorString(hipError_t error) { return error_text(error); }

}  // namespace

hipError_t note_error(hipError_t error) noexcept {
  if (error != hipSuccess && error != hipErrorNotReady) last_error = error;
  return error;
}

void add_error_calls(Api& api) {
  api.hipGetLastError = &hipGetLastError;
  api.hipGetErrorName = &hipGetErrorName;
  api.hipGetErrorString = &hipGetErrorString;
}

}  // namespace hiptool::hip::cpu
