// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace hiptool::fake {

/// The architecture of all devices: FAKE_HIP_ARCH, else "gfx90a:sramecc+:xnack-".
const std::string& full_arch();
/// The same up to its first ':'.
std::string arch_name();

/// RDNA: warps of 32, and the number of multiprocessors told is half of the real one.
bool is_rdna();

}  // namespace hiptool::fake
