// SPDX-License-Identifier: MIT
// c = a b of square matrices without matrix instructions: a block computes 128 x 128 of c, a thread
// 8 x 8 of them. Sums are f32, in order.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

constexpr unsigned tile = 128;
constexpr unsigned depth = 8;  // of the pieces of a and b in shared memory
constexpr unsigned side = 8;   // per thread: four rows, and four more half a tile further
constexpr unsigned half_tile = tile / 2;
// In units of four numbers. The padding keeps rows of a out of each other's banks.
constexpr unsigned row_units = tile / 4 + 1;

struct Half {
  static __device__ float widen(uint32_t bits) { return f16_to_operand(bits); }
};
struct Bfloat {
  static __device__ float widen(uint32_t bits) { return bf16_to_operand(bits); }
};

struct Four {
  float at[4];
};

inline __device__ Four to_four(uint4 unit) {
  Four four;
  read_unit(unit, four.at);
  return four;
}

// Loads four adjacent numbers at once; the index is a multiple of four.
struct Singles {
  static __device__ Four load(const float* from, uint64_t at) {
    return to_four(reinterpret_cast<const uint4*>(from)[at / 4]);
  }
};
template <class Stored>
struct Halves {
  static __device__ Four load(const uint16_t* from, uint64_t at) {
    const uint64_t bits = reinterpret_cast<const uint64_t*>(from)[at / 4];
    Four four;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      four.at[i] = Stored::widen(static_cast<uint16_t>(bits >> (16 * i)));
    }
    return four;
  }
};

// A thread's share of the next pieces, between memory and shared memory.
template <class Load, class Number>
struct Pieces {
  const Number* a;
  const Number* b;
  uint64_t n;
  uint64_t a_at;  // of its row, from which k counts
  uint64_t b_at;
  Four of_a;
  Four of_b;

  __device__ Pieces(const Number* left, const Number* right, uint64_t size, uint64_t row,
                    uint64_t column)
      : a(left),
        b(right),
        n(size),
        a_at((row + threadIdx.x / 2) * size + threadIdx.x % 2 * 4),
        b_at(threadIdx.x / 32 * size + column + threadIdx.x % 32 * 4) {}

  __device__ void load(uint64_t k) {
    of_a = Load::load(a, a_at + k);
    of_b = Load::load(b, b_at + k * n);
  }

  // a is transposed: one row per k.
  __device__ void store(uint4 (*to_a)[row_units], uint4 (*to_b)[row_units]) const {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      auto* const words = reinterpret_cast<uint32_t*>(to_a[threadIdx.x % 2 * 4 + i]);
      words[threadIdx.x / 2] = __float_as_uint(of_a.at[i]);
    }
    to_b[threadIdx.x / 32][threadIdx.x % 32] = make_unit(of_b.at);
  }
};

// A thread's eight numbers of a row in shared memory.
inline __device__ void load_side(const uint4* row, unsigned at, float* to) {
  const Four low = to_four(row[at]);
  const Four high = to_four(row[at + half_tile / 4]);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    to[i] = low.at[i];
    to[i + 4] = high.at[i];
  }
}

template <class Load, class Number>
inline __device__ void multiply(const Number* a, const Number* b, uint4* c, uint64_t n) {
  // Double-buffered: one piece is filled while the other is read.
  auto* const of_a = reinterpret_cast<uint4(*)[depth][row_units]>(dynamic_shared());
  auto* const of_b = of_a + 2;
  const uint64_t tiles = n / tile;
  const uint64_t row = blockIdx.x / tiles * tile;
  const uint64_t column = blockIdx.x % tiles * tile;
  const unsigned x = threadIdx.x % 16;
  const unsigned y = threadIdx.x / 16;
  Pieces<Load, Number> pieces(a, b, n, row, column);
  float sum[side][side] = {};
  pieces.load(0);
  pieces.store(of_a[0], of_b[0]);
  __syncthreads();
  unsigned now = 0;
#pragma unroll 1
  for (uint64_t k = depth;; k += depth) {
    if (k < n) pieces.load(k);
#pragma unroll 2
    for (unsigned d = 0; d < depth; ++d) {
      float left[side];
      float right[side];
      load_side(of_a[now][d], y, left);
      load_side(of_b[now][d], x, right);
#pragma unroll
      for (unsigned i = 0; i < side; ++i) {
#pragma unroll
        for (unsigned j = 0; j < side; ++j) sum[i][j] = __fmaf_rn(left[i], right[j], sum[i][j]);
      }
    }
    if (k >= n) break;
    now ^= 1;
    pieces.store(of_a[now], of_b[now]);
    __syncthreads();
  }
#pragma unroll
  for (unsigned i = 0; i < side; ++i) {
    const uint64_t line = row + i / 4 * half_tile + 4 * y + i % 4;
    c[(line * n + column) / 4 + x] = make_unit(sum[i]);
    c[(line * n + column + half_tile) / 4 + x] = make_unit(sum[i] + 4);
  }
}

}  // namespace

// n is a multiple of 128, and there are (n / 128)^2 blocks of 256 threads with 16896 bytes of
// shared memory.
extern "C" __global__ void __launch_bounds__(256, 2)
    hiptool_gemm_f32(const float* a, const float* b, uint4* c, uint64_t n) {
  multiply<Singles>(a, b, c, n);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    hiptool_gemm_f16(const uint16_t* a, const uint16_t* b, uint4* c, uint64_t n) {
  multiply<Halves<Half>>(a, b, c, n);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    hiptool_gemm_bf16(const uint16_t* a, const uint16_t* b, uint4* c, uint64_t n) {
  multiply<Halves<Bfloat>>(a, b, c, n);
}

HIPTOOL_EXPORT(hiptool_gemm_f32);
HIPTOOL_EXPORT(hiptool_gemm_f16);
HIPTOOL_EXPORT(hiptool_gemm_bf16);
