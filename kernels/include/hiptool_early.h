// SPDX-License-Identifier: MIT
// Kernels that a device starts before the kernel in front of them has ended, so that their first
// steps overlap with its end ("programmatic dependent launch", CUDA C++ Programming Guide). Only
// images for compute capability 9.0 do so; in all others these functions do nothing.
#pragma once
#include "hiptool_device.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// The host looks for this name in a module: each kernel of a source that includes this header calls
// both functions below, in all threads, before anything else but hints and reading what no such
// kernel writes, as weights.
extern "C" __device__ __attribute__((used)) unsigned char hiptool_starts_early = 1;
#endif

namespace hiptool_device {

// Lets the next kernel start once all blocks of this one have called it.
inline __device__ void let_next_start() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// From here on the kernels in front have ended: what they wrote can be read, and what they read
// overwritten.
inline __device__ void wait_for_inputs() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// For reading before wait_for_inputs() what no kernel that starts early writes, as weights: the
// host lets a kernel start early only behind one that does so too, so all others have ended. Units
// at multiples of 16 bytes, words of 4.
inline __device__ uint4 read_settled_unit(const void* from) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  uint32_t x, y, z, w;
  asm volatile(
      "{ .reg .u64 place; cvta.to.global.u64 place, %4;"
      " ld.global.nc.v4.u32 {%0, %1, %2, %3}, [place]; }"
      : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
      : "l"(from));
  return make_unit(x, y, z, w);
#else
  return *static_cast<const uint4*>(from);
#endif
}
inline __device__ uint32_t read_settled_word(const uint32_t* from) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  uint32_t word;
  asm volatile("{ .reg .u64 place; cvta.to.global.u64 place, %1; ld.global.nc.u32 %0, [place]; }"
               : "=r"(word)
               : "l"(from));
  return word;
#else
  return *from;
#endif
}

// A hint that bytes will be read, which may be given before wait_for_inputs(): the device's second
// cache sees later writes. Whole units of 16 bytes of them.
inline __device__ void prefetch_bytes([[maybe_unused]] const void* from,
                                      [[maybe_unused]] uint64_t size_bytes) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const uint64_t first = reinterpret_cast<uint64_t>(from) / 16 * 16;
  const auto units = static_cast<uint32_t>(size_bytes / 16);
  if (units == 0) return;
  asm volatile(
      "{ .reg .u64 place; cvta.to.global.u64 place, %0;"
      " cp.async.bulk.prefetch.L2.global [place], %1; }" ::"l"(first),
      "r"(units * 16)
      : "memory");
#endif
}

}  // namespace hiptool_device
