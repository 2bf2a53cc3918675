// SPDX-License-Identifier: MIT
// How the sums of a matrix product become results.
#pragma once
#include "hiptool_elements.h"
#include "hiptool_matmul.h"

namespace hiptool_ops {

// For arithmetic only: a signalling NaN stays one.
template <class Stored>
inline __device__ typename Element<Stored>::Value factor_of(Stored stored) {
  return Element<Stored>::widen(stored);
}
template <>
inline __device__ float factor_of(Bf16 stored) {
  return hiptool_device::bf16_to_operand(stored.bits);
}

inline __device__ float fused(float x, float y, float z) { return __fmaf_rn(x, y, z); }
inline __device__ double fused(double x, double y, double z) { return __fma_rn(x, y, z); }

// Sixteen rows of tiles advance through the columns together, so that concurrent blocks share the
// cached parts of both matrices.
struct TilePlace {
  uint64_t row;
  uint64_t column;
  uint64_t chunk;
  uint64_t batch;

  __device__ TilePlace(const Matmul& all, uint64_t work) {
    constexpr uint64_t most_rows = 16;
    const uint64_t tiles = all.row_tiles * all.column_tiles;
    const uint64_t inside = work % tiles;
    chunk = work / tiles % all.chunks;
    batch = work / tiles / all.chunks;
    const uint64_t group = inside / (most_rows * all.column_tiles);
    const uint64_t top = group * most_rows;
    const uint64_t rows = all.row_tiles - top < most_rows ? all.row_tiles - top : most_rows;
    const uint64_t in_group = inside % (most_rows * all.column_tiles);
    row = top + in_group % rows;
    column = in_group / rows;
  }
};

// Four neighbouring results of a row.
template <class Stored, class Number>
inline __device__ void finish(const Matmul& all, Stored* out, uint64_t row, uint64_t column,
                              const Number* sums) {
  if (row >= all.a.size || column >= all.b.size) return;
  Stored* const to = out + row * all.out_stride + column;
  const auto alpha = static_cast<Number>(all.alpha);
  const auto beta = static_cast<Number>(all.beta);
  Stored results[matmul_piece];
#pragma unroll
  for (unsigned i = 0; i < matmul_piece; ++i) {
    Number result = alpha * sums[i];
    if (all.reads_out && column + i < all.b.size) {
      result = fused(beta, factor_of(to[i]), result);
    }
    results[i] = Element<Stored>::narrow(result);
  }
  if (all.out_pieces) {
    store_piece<matmul_piece>(to, results);
    return;
  }
#pragma unroll
  for (unsigned i = 0; i < matmul_piece; ++i) {
    if (column + i < all.b.size) to[i] = results[i];
  }
}

// The sums of a chunk as they are.
template <class Number>
inline __device__ void keep(const Matmul& all, Number* partial, uint64_t row, uint64_t column,
                            const Number* sums) {
  if (row >= all.a.size) return;
#pragma unroll
  for (unsigned i = 0; i < matmul_piece; ++i) {
    if (column + i < all.b.size) partial[row * all.b.size + column + i] = sums[i];
  }
}

// One result, wherever it is.
template <class Stored, class Number>
inline __device__ void finish_one(const Matmul& all, Stored* out, uint64_t row, uint64_t column,
                                  Number sum) {
  Stored* const to = out + row * all.out_stride + column * all.out_column_stride;
  Number result = static_cast<Number>(all.alpha) * sum;
  if (all.reads_out) {
    result = fused(static_cast<Number>(all.beta), factor_of(*to), result);
  }
  *to = Element<Stored>::narrow(result);
}

}  // namespace hiptool_ops
