// SPDX-License-Identifier: MIT
// c = a b of square matrices, by the units for single numbers: a block makes 64 x 64 of c, a thread
// 4 x 4 of them. Sums are f32, in order.
#include <hip/hip_runtime.h>

namespace {

constexpr unsigned tile = 64;
constexpr unsigned depth = 16;  // of the pieces of a and b that lie in shared memory
constexpr unsigned side = 4;    // of what a thread makes

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

inline __device__ float to_float(float value) { return value; }

// bfloat16 is the upper half of a binary32.
inline __device__ float to_float(Bfloat value) {
  return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}

// binary16: moved to the place of a binary32, whose exponent is 112 too small then.
inline __device__ float to_float(Half half) {
  const uint16_t bits = half.bits;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFU) << 13;
  const float value = __uint_as_float(magnitude) * 0x1p112F;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const bool is_special = (bits & 0x7C00U) == 0x7C00U;
  return __uint_as_float((is_special ? magnitude | 0x7F800000U : __float_as_uint(value)) | sign);
}

template <class Stored>
inline __device__ void multiply(const Stored* a, const Stored* b, uint4* c, uint64_t n) {
  __shared__ float of_a[depth][tile + 4];  // across: one row for each k
  __shared__ float of_b[depth][tile];
  const unsigned thread = threadIdx.x;
  const uint64_t tiles = n / tile;
  const uint64_t row = blockIdx.x / tiles * tile;
  const uint64_t column = blockIdx.x % tiles * tile;
  const unsigned x = thread % 16 * side;
  const unsigned y = thread / 16 * side;
  float sum[side][side] = {};
#pragma unroll 1
  for (uint64_t k = 0; k < n; k += depth) {
#pragma unroll
    for (unsigned i = 0; i < side; ++i) {
      const unsigned a_row = thread / depth + 16 * i;
      of_a[thread % depth][a_row] = to_float(a[(row + a_row) * n + k + thread % depth]);
      const unsigned b_row = thread / tile + 4 * i;
      of_b[b_row][thread % tile] = to_float(b[(k + b_row) * n + column + thread % tile]);
    }
    __syncthreads();
#pragma unroll 4
    for (unsigned d = 0; d < depth; ++d) {
      float left[side];
      float right[side];
#pragma unroll
      for (unsigned i = 0; i < side; ++i) {
        left[i] = of_a[d][y + i];
        right[i] = of_b[d][x + i];
      }
#pragma unroll
      for (unsigned i = 0; i < side; ++i) {
#pragma unroll
        for (unsigned j = 0; j < side; ++j) sum[i][j] = __fmaf_rn(left[i], right[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (unsigned i = 0; i < side; ++i) {
    uint4 unit;
    unit.x = __float_as_uint(sum[i][0]);
    unit.y = __float_as_uint(sum[i][1]);
    unit.z = __float_as_uint(sum[i][2]);
    unit.w = __float_as_uint(sum[i][3]);
    c[((row + y + i) * n + column + x) / side] = unit;
  }
}

}  // namespace

// n is a multiple of 64, and there are (n / 64)^2 blocks of 256 threads.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_gemm_f32(const float* a, const float* b, uint4* c, uint64_t n) {
  multiply(a, b, c, n);
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_gemm_f16(const uint16_t* a, const uint16_t* b, uint4* c, uint64_t n) {
  multiply(reinterpret_cast<const Half*>(a), reinterpret_cast<const Half*>(b), c, n);
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_gemm_bf16(const uint16_t* a, const uint16_t* b, uint4* c, uint64_t n) {
  multiply(reinterpret_cast<const Bfloat*>(a), reinterpret_cast<const Bfloat*>(b), c, n);
}

HIPTOOL_EXPORT(hiptool_gemm_f32);
HIPTOOL_EXPORT(hiptool_gemm_f16);
HIPTOOL_EXPORT(hiptool_gemm_bf16);
