// SPDX-License-Identifier: MIT
#pragma once
#include "fakes/common/modules.hpp"

namespace hiptool::fake {

/// Reads what AMD's runtime loads: a code object, or a bundle of them from which the one for the
/// device is taken.
Contents read_amd_image(const void* image);

}  // namespace hiptool::fake
