// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace hiptool::hip::cpu {

/// The error of the newest launch that failed in this process, empty before the first. HIP has no
/// call for it; it is for tests and debugging.
std::string last_launch_error();

}  // namespace hiptool::hip::cpu
