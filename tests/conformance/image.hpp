// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace hiptool::conformance {

/// The image of the suite's kernels for the device under test; null where the build made none for
/// its architecture.
const void* find_image();

/// What the cases of modules and launches skip for where there is none.
std::string reason_for_no_image();

/// Whether the build claims to have made one, so that its lack is a failure and no reason to skip.
bool must_have_image();

}  // namespace hiptool::conformance
