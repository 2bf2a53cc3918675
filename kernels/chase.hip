// SPDX-License-Identifier: MIT
#include <hip/hip_runtime.h>

// Follows a chain of addresses, from the word at `first` on: each word holds the address of the
// next. Only the chosen block of the grid does so, with one thread, so that each multiprocessor can
// have its turn where the device runs one block on each. *place is where it ends.
extern "C" __global__ void __launch_bounds__(64)
    hiptool_chase_block(const uint64_t* first, uint64_t steps, uint32_t block, uint64_t* place) {
  if (blockIdx.x != block || threadIdx.x != 0) return;
  const uint64_t* at = first;
  for (uint64_t i = 0; i < steps; ++i) at = reinterpret_cast<const uint64_t*>(*at);
  *place = reinterpret_cast<uint64_t>(at);
}

HIPTOOL_EXPORT(hiptool_chase_block);
