// SPDX-License-Identifier: MIT
// Memory latency, shared memory and atomics.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

constexpr unsigned shared_units = 512;

}  // namespace

// Follows a chain of indices; the next run starts where it ends.
extern "C" __global__ void __launch_bounds__(64)
    hiptool_chase(const uint32_t* next, uint64_t steps, uint32_t* place) {
  if (threadIdx.x != 0 || blockIdx.x != 0) return;
  uint32_t at = *place;
#pragma unroll 8
  for (uint64_t i = 0; i < steps; ++i) at = next[at];
  *place = at;
}

// Word i of the shared memory is i * 0x9E3779B1. out[thread] = the sum of all words that the thread
// has read: units of four at thread, thread + 32, ... modulo 512. A block has 8192
// bytes of shared memory.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_shared_read(uint32_t* out, uint64_t rounds) {
  uint4* const data = dynamic_shared();
  for (unsigned i = threadIdx.x; i < shared_units; i += blockDim.x) {
    const uint32_t first = 4 * i * 0x9E3779B1U;
    data[i] =
        make_unit(first, first + 0x9E3779B1U, first + 2 * 0x9E3779B1U, first + 3 * 0x9E3779B1U);
  }
  __syncthreads();
  uint32_t x = 0;
  uint32_t y = 0;
  uint32_t z = 0;
  uint32_t w = 0;
  unsigned at = threadIdx.x;
#pragma unroll 8
  for (uint64_t i = 0; i < rounds; ++i) {
    const uint4 unit = data[at];
    x += unit.x;
    y += unit.y;
    z += unit.z;
    w += unit.w;
    at = (at + 32) % shared_units;
  }
  out[static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x] = x + y + z + w;
}

// Adds 1 to `rounds` counters per thread, cycling over `mask` + 1 of them, a power of two.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_atomic_add(uint32_t* counters, uint64_t rounds, uint32_t mask) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t i = 0; i < rounds; ++i) {
    atomicAdd(&counters[(thread + i * 37) & mask], static_cast<uint32_t>(1));
  }
}

HIPTOOL_EXPORT(hiptool_chase);
HIPTOOL_EXPORT(hiptool_shared_read);
HIPTOOL_EXPORT(hiptool_atomic_add);
