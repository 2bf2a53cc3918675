// SPDX-License-Identifier: MIT
#pragma once

namespace hiptool::conformance {

/// The image of the suite's kernels for the device under test; null where the build made none for
/// its architecture.
const void* find_image();

}  // namespace hiptool::conformance
