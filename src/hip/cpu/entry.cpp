// SPDX-License-Identifier: MIT
#include "hip/cpu/entry.hpp"

#include "hip/error_names.hpp"

namespace hiptool::hip::cpu {
namespace {

const char* hipGetErrorName(hipError_t error) { return error_name(error); }

const char* hipGetErrorString(hipError_t error) { return error_text(error); }

}  // namespace

void add_error_calls(Api& api) {
  api.hipGetErrorName = &hipGetErrorName;
  api.hipGetErrorString = &hipGetErrorString;
}

}  // namespace hiptool::hip::cpu
