// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace hiptool::hip::cpu {

/// What went wrong in the newest launch that failed in this process, empty before the first. HIP
/// has no call for it; it is for tests and for people who debug.
std::string last_launch_error();

}  // namespace hiptool::hip::cpu
