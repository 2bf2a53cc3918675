// SPDX-License-Identifier: MIT
// Products of matrices of i8 with sums of 32 bits, which wrap: the same in any order. A block takes
// 64 x 64 results, a thread 4 x 4 of them, and a step 32 elements of k, in shared memory as words
// of four neighbouring rows or columns. Operands may have any strides.
#include "hiptool_products.h"

using namespace hiptool_device;

namespace hiptool_ops {

// Words of a step's element of k.
constexpr unsigned i8_words = matmul_i8_tile / 4;

// One step of an operand. Elements beyond the matrix are 0.
inline __device__ void load_step(const MatmulFactor& factor, const signed char* from,
                                 uint64_t first, uint64_t k_first, uint64_t k_end, uint32_t* to) {
#pragma unroll
  for (unsigned i = 0; i < i8_words * matmul_i8_depth / matmul_threads; ++i) {
    const unsigned index = threadIdx.x + i * matmul_threads;
    // Neighbouring threads read neighbouring elements.
    const unsigned word = factor.is_across ? index / matmul_i8_depth : index % i8_words;
    const unsigned depth = factor.is_across ? index % matmul_i8_depth : index / i8_words;
    const uint64_t own = first + 4 * word;
    const uint64_t k = k_first + depth;
    uint32_t packed = 0;
    if (k < k_end) {
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        if (own + j >= factor.size) break;
        const uint32_t bits =
            static_cast<uint32_t>(from[(own + j) * factor.stride + k * factor.k_stride]);
        packed |= (bits & 0xFF) << 8 * j;
      }
    }
    to[depth * matmul_i8_pitch + word] = packed;
  }
}

// Byte `at` of a word as a number of 32 bits, its sign extended.
inline __device__ uint32_t byte_of(uint32_t word, unsigned at) {
  const uint32_t bits = word >> 8 * at & 0xFF;
  return (bits ^ 0x80) - 0x80;
}

inline __device__ void multiply_i8(const Matmul& all, uint64_t work, const signed char* a,
                                   const signed char* b, int32_t* out) {
  const TilePlace place(all, work);
  uint64_t bases[3];
  find_places(all.batches, place.batch, bases);
  const uint64_t first_row = place.row * matmul_i8_tile;
  const uint64_t first_column = place.column * matmul_i8_tile;
  auto* const left = reinterpret_cast<uint32_t*>(dynamic_shared());
  uint32_t* const right = left + matmul_i8_depth * matmul_i8_pitch;
  const unsigned own_row = threadIdx.x / i8_words;
  const unsigned own_column = threadIdx.x % i8_words;
  uint32_t sums[4][4] = {};
#pragma unroll 1
  for (uint64_t k = 0; k < all.k; k += matmul_i8_depth) {
    load_step(all.a, a + bases[0], first_row, k, all.k, left);
    load_step(all.b, b + bases[1], first_column, k, all.k, right);
    __syncthreads();
#pragma unroll 4
    for (unsigned depth = 0; depth < matmul_i8_depth; ++depth) {
      const uint32_t rows = left[depth * matmul_i8_pitch + own_row];
      const uint32_t columns = right[depth * matmul_i8_pitch + own_column];
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) sums[i][j] += byte_of(rows, i) * byte_of(columns, j);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const uint64_t row = first_row + 4 * own_row + i;
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      const uint64_t column = first_column + 4 * own_column + j;
      if (row >= all.a.size || column >= all.b.size) continue;
      out[bases[2] + row * all.out_stride + column * all.out_column_stride] =
          static_cast<int32_t>(sums[i][j]);
    }
  }
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(256)
    hiptool_matmul_i8(hiptool_ops::Matmul all, const signed char* a, const signed char* b,
                      int32_t* out) {
  const uint64_t tiles = all.row_tiles * all.column_tiles * all.batches.count;
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < tiles; work += gridDim.x) {
    hiptool_ops::multiply_i8(all, work, a, b, out);
  }
}
HIPTOOL_EXPORT(hiptool_matmul_i8);
