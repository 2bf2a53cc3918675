// SPDX-License-Identifier: MIT
// Words that a running kernel exchanges with the host or with kernels of other devices: accesses
// that no cache holds back, and fences for all devices and the host.
#pragma once
#include "hiptool_device.h"
#if !defined(__AMDGCN__) && !defined(__CUDA_ARCH__)
#include <sched.h>
#endif

namespace hiptool_device {

#if defined(__CUDA_ARCH__)

// Relaxed accesses of the system's scope: PTX ISA, "ld.volatile has the same memory synchronization
// semantics as ld.relaxed.sys".
inline __device__ uint32_t load_signal(const uint32_t* from) {
  return *static_cast<const volatile uint32_t*>(from);
}
inline __device__ void store_signal(uint32_t* to, uint32_t value) {
  *static_cast<volatile uint32_t*>(to) = value;
}
inline __device__ void system_fence() { asm volatile("membar.sys;" ::: "memory"); }
// One thread's fence is enough here: the barrier before or after it covers the block.
inline __device__ void thread_fence() {}
inline __device__ void relax() {}

#elif defined(__AMDGCN__)

inline __device__ uint32_t load_signal(const uint32_t* from) {
  return __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
inline __device__ void store_signal(uint32_t* to, uint32_t value) {
  __hip_atomic_store(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
inline __device__ void system_fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
inline __device__ void thread_fence() { system_fence(); }
inline __device__ void relax() { __builtin_amdgcn_s_sleep(1); }

#else

inline uint32_t load_signal(const uint32_t* from) {
  return __atomic_load_n(from, __ATOMIC_RELAXED);
}
inline void store_signal(uint32_t* to, uint32_t value) {
  __atomic_store_n(to, value, __ATOMIC_RELAXED);
}
inline void system_fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void thread_fence() { system_fence(); }
// The one that is waited for may need this processor.
inline void relax() { sched_yield(); }

#endif

// Spins until the word is `wanted`. False if the host's stop word is set, or after that many spins.
inline __device__ bool spin_until(const uint32_t* word, uint32_t wanted, const uint32_t* stop,
                                  uint64_t most_spins) {
  constexpr uint64_t looks_at_stop = 64;
  for (uint64_t spin = 0; spin < most_spins; ++spin) {
    if (load_signal(word) == wanted) return true;
    if (spin % looks_at_stop == looks_at_stop - 1 && load_signal(stop) != 0) return false;
    relax();
  }
  return false;
}

// The same for all threads of a block, with one word of shared memory. What the other side wrote
// before it set the word is visible to all of them afterwards.
inline __device__ bool block_spins_until(const uint32_t* word, uint32_t wanted,
                                         const uint32_t* stop, uint64_t most_spins,
                                         uint32_t* shared) {
  if (threadIdx.x == 0) {
    *shared = spin_until(word, wanted, stop, most_spins) ? 1U : 0U;
    system_fence();
  }
  __syncthreads();
  const bool has_come = *shared != 0;
  __syncthreads();
  thread_fence();
  return has_come;
}

// Sets the word once all that the block's threads wrote is visible to the other side. A null word
// is skipped.
inline __device__ void block_signals(uint32_t* word, uint32_t value, uint32_t* other,
                                     uint32_t other_value) {
  thread_fence();
  __syncthreads();
  if (threadIdx.x != 0) return;
  system_fence();
  if (word != nullptr) store_signal(word, value);
  if (other != nullptr) store_signal(other, other_value);
}

}  // namespace hiptool_device
