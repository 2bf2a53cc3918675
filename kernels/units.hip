// SPDX-License-Identifier: MIT
// Memory latency, shared memory, atomics, and a transposing copy.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

constexpr unsigned tile = 64;      // 32 was slower by 0.07 on an H200
constexpr unsigned tile_rows = 4;  // that 256 threads have
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

// out[column][row] = in[row][column]; rows and columns are multiples of 64, and a block has 16640
// bytes of shared memory.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_transpose(const uint32_t* in, uint32_t* out, uint64_t rows, uint64_t columns) {
  auto* const data = reinterpret_cast<uint32_t(*)[tile + 1]>(dynamic_shared());
  const unsigned x = threadIdx.x % tile;
  const unsigned y = threadIdx.x / tile;
  const uint64_t across = columns / tile;
  const uint64_t tiles = across * (rows / tile);
  for (uint64_t i = blockIdx.x; i < tiles; i += gridDim.x) {
    const uint64_t row = i / across * tile;
    const uint64_t column = i % across * tile;
#pragma unroll
    for (unsigned k = 0; k < tile; k += tile_rows) {
      data[y + k][x] = in[(row + y + k) * columns + column + x];
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < tile; k += tile_rows) {
      out[(column + y + k) * rows + row + x] = data[x][y + k];
    }
    __syncthreads();
  }
}

HIPTOOL_EXPORT(hiptool_chase);
HIPTOOL_EXPORT(hiptool_shared_read);
HIPTOOL_EXPORT(hiptool_atomic_add);
HIPTOOL_EXPORT(hiptool_transpose);
