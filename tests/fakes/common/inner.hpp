// SPDX-License-Identifier: MIT
/// The cpu platform inside a fake: a copy of its own, apart from the one of the test's process.
#pragma once
#include "hip/api.hpp"

namespace hiptool::fake {

/// No fake shows more devices than this.
inline constexpr int most_devices = 8;

/// The table of the inner platform, bound at the first call. FAKE_KERNEL_PATH=fibers makes it run
/// the bodies of kernels; else those with a host function run that.
const hip::Api& inner();

/// How many lanes a warp of the inner platform has (32 or 64).
void set_inner_warp_size(unsigned lanes);

}  // namespace hiptool::fake
