// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

namespace hiptool::kernels {

/// Bytes of the __shared__ variables in a library that compile_for_cpu linked: its thread-local
/// variables, without those of hiptool_cpu_library.h. 0 where the file cannot be read.
std::uint64_t static_shared_bytes(const std::string& library);

}  // namespace hiptool::kernels
