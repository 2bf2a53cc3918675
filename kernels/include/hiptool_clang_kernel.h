// SPDX-License-Identifier: MIT
// HIP's names, defined by the builtins of clang, for AMD and for NVIDIA, without either vendor's
// headers.
#pragma once

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

// A vector type, because the NVPTX back end loads a struct in several pieces.
typedef unsigned uint4 __attribute__((ext_vector_type(4)));

#if defined(__AMDGCN__)

// The second number has another meaning for AMD than for NVIDIA; ours are meant for NVIDIA.
#define __launch_bounds__(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define HIPTOOL_THREAD_ID(dim) __builtin_amdgcn_workitem_id_##dim()
#define HIPTOOL_BLOCK_ID(dim) __builtin_amdgcn_workgroup_id_##dim()
#define HIPTOOL_BLOCK_SIZE(dim) static_cast<unsigned>(__builtin_amdgcn_workgroup_size_##dim())
#define HIPTOOL_GRID_SIZE(dim) (__builtin_amdgcn_grid_size_##dim() / HIPTOOL_BLOCK_SIZE(dim))

// Newer clangs have dropped the macro, older ones have no builtin.
#if defined(__AMDGCN_WAVEFRONT_SIZE)
#define HIPTOOL_WARP_SIZE __AMDGCN_WAVEFRONT_SIZE
#else
#define HIPTOOL_WARP_SIZE __builtin_amdgcn_wavefrontsize()
#endif

inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

inline __device__ int hiptool_lane() {
  return static_cast<int>(__builtin_amdgcn_mbcnt_hi(~0U, __builtin_amdgcn_mbcnt_lo(~0U, 0U)));
}

struct HiptoolShuffle {
  static __device__ int index(int word, int lane, int width) {
    return from(word, (hiptool_lane() & ~(width - 1)) | (lane & (width - 1)));
  }
  static __device__ int down(int word, int delta, int width) {
    const int self = hiptool_lane();
    return from(word, (self & (width - 1)) + delta < width ? self + delta : self);
  }
  static __device__ int exchange(int word, int mask, int width) {
    const int self = hiptool_lane();
    const int other = self ^ mask;
    return from(word, other < ((self + width) & ~(width - 1)) ? other : self);
  }

 private:
  static __device__ int from(int word, int lane) {
    return __builtin_amdgcn_ds_bpermute(lane << 2, word);
  }
};

#define HIPTOOL_ATOMIC(operation, address, value) \
  __hip_atomic_fetch_##operation(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)

inline __device__ float atomicAdd(float* address, float value) {
  return HIPTOOL_ATOMIC(add, address, value);
}

#else

#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define HIPTOOL_THREAD_ID(dim) __nvvm_read_ptx_sreg_tid_##dim()
#define HIPTOOL_BLOCK_ID(dim) __nvvm_read_ptx_sreg_ctaid_##dim()
#define HIPTOOL_BLOCK_SIZE(dim) __nvvm_read_ptx_sreg_ntid_##dim()
#define HIPTOOL_GRID_SIZE(dim) __nvvm_read_ptx_sreg_nctaid_##dim()
#define HIPTOOL_WARP_SIZE 32

struct HiptoolShuffle {
  static __device__ int index(int word, int lane, int width) {
    return __nvvm_shfl_sync_idx_i32(~0U, word, lane, clamp(width));
  }
  static __device__ int down(int word, int delta, int width) {
    return __nvvm_shfl_sync_down_i32(~0U, word, delta, clamp(width));
  }
  static __device__ int exchange(int word, int mask, int width) {
    return __nvvm_shfl_sync_bfly_i32(~0U, word, mask, clamp(width));
  }

 private:
  static __device__ int clamp(int width) { return ((32 - width) << 8) | 31; }
};

#define HIPTOOL_ATOMIC(operation, address, value) \
  __atomic_fetch_##operation(address, value, __ATOMIC_RELAXED)

inline __device__ float atomicAdd(float* address, float value) {
  return __nvvm_atom_add_gen_f(address, value);
}

#endif

// The objects are never made: each member is read through a property, and no symbol remains.
#define HIPTOOL_INDEX(type, read, object)                   \
  struct type {                                             \
    __declspec(property(get = read_x)) unsigned x;          \
    __declspec(property(get = read_y)) unsigned y;          \
    __declspec(property(get = read_z)) unsigned z;          \
    static __device__ unsigned read_x() { return read(x); } \
    static __device__ unsigned read_y() { return read(y); } \
    static __device__ unsigned read_z() { return read(z); } \
  };                                                        \
  extern const __device__ __attribute__((weak)) type object;

HIPTOOL_INDEX(HiptoolThreadIndex, HIPTOOL_THREAD_ID, threadIdx)
HIPTOOL_INDEX(HiptoolBlockIndex, HIPTOOL_BLOCK_ID, blockIdx)
HIPTOOL_INDEX(HiptoolBlockSize, HIPTOOL_BLOCK_SIZE, blockDim)
HIPTOOL_INDEX(HiptoolGridSize, HIPTOOL_GRID_SIZE, gridDim)

struct HiptoolWarpSize {
  __device__ operator int() const { return HIPTOOL_WARP_SIZE; }
};
extern const __device__ __attribute__((weak)) HiptoolWarpSize warpSize;

// Shuffles move words of 32 bits; longer values go in pieces.
template <class T, class Move>
__device__ T hiptool_shuffle(T value, Move move) {
  static_assert(sizeof(T) % sizeof(int) == 0, "whole words only");
  int words[sizeof(T) / sizeof(int)];
  __builtin_memcpy(words, &value, sizeof value);
  for (int& word : words) word = move(word);
  __builtin_memcpy(&value, words, sizeof value);
  return value;
}

template <class T>
__device__ T __shfl(T value, int lane, int width = HIPTOOL_WARP_SIZE) {
  return hiptool_shuffle(value, [=](int w) { return HiptoolShuffle::index(w, lane, width); });
}

template <class T>
__device__ T __shfl_down(T value, unsigned delta, int width = HIPTOOL_WARP_SIZE) {
  const int distance = static_cast<int>(delta);
  return hiptool_shuffle(value, [=](int w) { return HiptoolShuffle::down(w, distance, width); });
}

template <class T>
__device__ T __shfl_xor(T value, int lane_mask, int width = HIPTOOL_WARP_SIZE) {
  return hiptool_shuffle(value,
                         [=](int w) { return HiptoolShuffle::exchange(w, lane_mask, width); });
}

inline __device__ uint32_t atomicAdd(uint32_t* address, uint32_t value) {
  return HIPTOOL_ATOMIC(add, address, value);
}

inline __device__ uint64_t atomicAdd(uint64_t* address, uint64_t value) {
  return HIPTOOL_ATOMIC(add, address, value);
}

inline __device__ uint32_t atomicMin(uint32_t* address, uint32_t value) {
  return HIPTOOL_ATOMIC(min, address, value);
}

inline __device__ uint64_t atomicMin(uint64_t* address, uint64_t value) {
  return HIPTOOL_ATOMIC(min, address, value);
}

inline __device__ uint32_t atomicOr(uint32_t* address, uint32_t value) {
  return HIPTOOL_ATOMIC(or, address, value);
}

inline __device__ uint64_t atomicOr(uint64_t* address, uint64_t value) {
  return HIPTOOL_ATOMIC(or, address, value);
}

inline __device__ float __uint_as_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }

inline __device__ uint32_t __float_as_uint(float value) {
  return __builtin_bit_cast(uint32_t, value);
}

inline __device__ double __longlong_as_double(long long bits) {
  return __builtin_bit_cast(double, bits);
}

inline __device__ long long __double_as_longlong(double value) {
  return __builtin_bit_cast(long long, value);
}

// Nothing for the optimizer to see through: of a mere cast of bits clang 19 makes two loads of 8
// bytes where the words come from one of 16.
inline __device__ double __hiloint2double(int high, int low) {
#if defined(__AMDGCN__)
  __asm__("" : "+v"(high), "+v"(low));
  return __builtin_bit_cast(double, static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                                        static_cast<uint32_t>(low));
#else
  return __nvvm_lohi_i2d(low, high);
#endif
}

inline __device__ float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

inline __device__ double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

inline __device__ float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
inline __device__ float fminf(float x, float y) { return __builtin_fminf(x, y); }

inline __device__ float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline __device__ double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
