// SPDX-License-Identifier: MIT
#include "hiptool_device.h"

using namespace hiptool_device;

// out[0 .. count) = value
extern "C" __global__ void __launch_bounds__(256)
    hiptool_fill_u32(uint32_t* out, uint64_t count, uint32_t value) {
  const uint64_t stride = unit_stride();
  uint64_t i = first_unit();
  for (; i < count; i += stride) out[i] = value;
}

HIPTOOL_EXPORT(hiptool_fill_u32);
