// SPDX-License-Identifier: MIT
// Copies to shared memory that run while a thread does other work (cp.async), of NVIDIA's GPUs from
// compute capability 8.0 on. On the processor they are imitated.
#pragma once
#include "hiptool_device.h"

namespace hiptool_ops {

#if defined(__CUDA__) || defined(__CUDACC__)

constexpr bool is_imitation = false;

inline __device__ uint32_t shared_address(const uint4* data) {
  uint32_t address;
  asm("{ .reg .u64 long; cvta.to.shared.u64 long, %1; cvt.u32.u64 %0, long; }"
      : "=r"(address)
      : "l"(data));
  return address;
}

// Copies 16 bytes, and prefetches their neighbours to the second-level cache or not.
template <bool fetches_more>
inline __device__ void begin_copy(uint32_t to, const void* from) {
  if constexpr (fetches_more) {
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(from)
                 : "memory");
  } else {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  }
}
// Copies `bytes` and fills the rest of 16 with 0.
inline __device__ void begin_copy(uint32_t to, const void* from, unsigned bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
inline __device__ void end_stage() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until all stages but the last `later` committed ones have arrived, of this thread.
template <unsigned later>
inline __device__ void await_own_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
}

#else

constexpr bool is_imitation = true;

// Offsets in shared memory serve as addresses.
inline __device__ uint32_t shared_address(const uint4*) { return 0; }
inline __device__ char* shared_bytes(uint32_t at) {
  return reinterpret_cast<char*>(hiptool_device::dynamic_shared()) + at;
}
template <bool>
inline __device__ void begin_copy(uint32_t to, const void* from) {
  __builtin_memcpy(shared_bytes(to), from, 16);
}
inline __device__ void begin_copy(uint32_t to, const void* from, unsigned bytes) {
  if (bytes < 16) __builtin_memset(shared_bytes(to), 0, 16);
  if (bytes > 0) __builtin_memcpy(shared_bytes(to), from, bytes);
}
inline __device__ void end_stage() {}
template <unsigned later>
inline __device__ void await_own_copies() {}

#endif

}  // namespace hiptool_ops
