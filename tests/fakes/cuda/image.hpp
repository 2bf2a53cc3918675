// SPDX-License-Identifier: MIT
#pragma once
#include "fakes/common/modules.hpp"

namespace hiptool::fake {

/// Reads what CUDA's driver loads: PTX source or an object (cubin), for devices of sm_90.
Contents read_cuda_image(const void* image);

}  // namespace hiptool::fake
