// SPDX-License-Identifier: MIT
/// Names and texts of HIP's error numbers, for platforms without a HIP runtime.
#pragma once
#include "hip/abi.hpp"

namespace hiptool::hip {

/// HIP's own name, such as "hipErrorOutOfMemory"; "hipErrorUnknown" for a number HIP does not have.
const char* error_name(hipError_t error) noexcept;

/// One sentence about the error; "unknown error" for a number HIP does not have.
const char* error_text(hipError_t error) noexcept;

}  // namespace hiptool::hip
