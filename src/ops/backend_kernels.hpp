// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

#include "hiptool/backend.hpp"
#include "hiptool/kernel.hpp"

namespace hiptool::ops {

/// The kernel of that name, for layers that use more kernels than operations have; its source is
/// loaded once for a Backend. Throws as KernelLoader::kernel() does.
Kernel kernel_of(const Backend& backend, std::string_view name);

}  // namespace hiptool::ops
