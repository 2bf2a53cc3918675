// SPDX-License-Identifier: MIT
#include <hip/hip_runtime.h>

// Holds its stream until the host or another stream writes a value other than 0 to the flag. The
// bound keeps a mistake from blocking a device forever.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_gate(const volatile uint32_t* flag, uint64_t max_spins) {
  for (uint64_t spin = 0; spin < max_spins; ++spin) {
    if (*flag != 0) return;
  }
}

HIPTOOL_EXPORT(hiptool_gate);
