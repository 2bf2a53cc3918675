// SPDX-License-Identifier: MIT
// Replaces HIP's own header, so that one source compiles without ROCm and CUDA for every target:
// AMD and NVIDIA by clang alone, NVIDIA by nvcc, both by their run-time compilers, and the
// processor. It has what the kernels use and no more; with the real header they compile as well.
#pragma once

#if defined(__NVCC__) || defined(__CUDACC_RTC__)

// nvcc and NVRTC define CUDA's names; HIP has these in addition.

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
#else
#include <stdint.h>
#endif

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

template <class T>
__device__ T __shfl(T value, int lane, int width = warpSize) {
  return __shfl_sync(0xffffffffU, value, lane, width);
}

template <class T>
__device__ T __shfl_down(T value, unsigned delta, int width = warpSize) {
  return __shfl_down_sync(0xffffffffU, value, delta, width);
}

template <class T>
__device__ T __shfl_xor(T value, int lane_mask, int width = warpSize) {
  return __shfl_xor_sync(0xffffffffU, value, lane_mask, width);
}

// CUDA has these for unsigned long long, which uint64_t is not everywhere.
inline __device__ unsigned long atomicAdd(unsigned long* address, unsigned long value) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(address),
                   static_cast<unsigned long long>(value));
}

inline __device__ unsigned long atomicMin(unsigned long* address, unsigned long value) {
  return atomicMin(reinterpret_cast<unsigned long long*>(address),
                   static_cast<unsigned long long>(value));
}

inline __device__ unsigned long atomicOr(unsigned long* address, unsigned long value) {
  return atomicOr(reinterpret_cast<unsigned long long*>(address),
                  static_cast<unsigned long long>(value));
}

#elif defined(__HIPCC_RTC__)

// hipRTC defines HIP's names itself. Which of these types it defines, and how, depends on its
// release; macros work with all of them.
#define int8_t __INT8_TYPE__
#define uint8_t __UINT8_TYPE__
#define uint16_t __UINT16_TYPE__
#define uint32_t __UINT32_TYPE__
#define uint64_t __UINT64_TYPE__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

#elif defined(__clang__) && (defined(__HIP__) || defined(__CUDA__))

#include "hiptool_clang_kernel.h"

#else

#include "hiptool_cpu_kernel.h"

#endif

// On the processor this registers the kernel by its name; a device finds it in the image.
#if !defined(HIPTOOL_EXPORT)
#define HIPTOOL_EXPORT(kernel) static_assert(true, "")
#endif
