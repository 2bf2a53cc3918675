// SPDX-License-Identifier: MIT
// Products of a matrix with a few vectors: b has at most 8 columns. The matrix is read once, 32
// rows by a block. Lane i of 32 sums pieces i, i + 32, ... of k (four elements each) in their order
// by fused multiply-add, and one tree joins the lanes, whichever axis of the matrix has neighbours.
#include "hiptool_products.h"

using namespace hiptool_device;

namespace hiptool_ops {

// Up to four elements; those from `count` on are the filler.
template <class Stored>
inline __device__ void load_some(const Stored* from, uint64_t stride, uint64_t count,
                                 bool has_pieces, Stored filler, Stored* to) {
  if (has_pieces && count >= matmul_piece) {
    load_piece<matmul_piece>(from, to);
    return;
  }
#pragma unroll
  for (unsigned i = 0; i < matmul_piece; ++i) to[i] = i < count ? from[i * stride] : filler;
}

// Where a block is.
struct VectorPlace {
  uint64_t row;
  uint64_t batch;
  uint64_t chunk;
  uint64_t begin;
  uint64_t end;

  __device__ VectorPlace(const Matmul& all, uint64_t work) {
    row = work % all.row_tiles * matmul_rows;
    chunk = work / all.row_tiles % all.chunks;
    batch = work / all.row_tiles / all.chunks;
    begin = chunk * all.chunk;
    end = all.k - begin < all.chunk ? all.k : begin + all.chunk;
  }
};

template <class Stored, unsigned width>
struct Vectors {
  using Number = typename Element<Stored>::Value;
  const Matmul& all;
  const Stored* a;
  const Stored* b;
  uint64_t end;
  Number sum[matmul_piece][width];

  __device__ Vectors(const Matmul& product, const Stored* left, const Stored* right, uint64_t last)
      : all(product), a(left), b(right), end(last) {
#pragma unroll
    for (unsigned i = 0; i < matmul_piece; ++i) {
#pragma unroll
      for (unsigned v = 0; v < width; ++v) sum[i][v] = 0;
    }
  }

  // Element k + j of each vector, where the product of what is beyond the end is -0.
  __forceinline__ __device__ void load_vector(unsigned v, uint64_t k, Number* to) const {
    const uint64_t rest = k < end ? end - k : 0;
    Stored piece[matmul_piece];
    load_some(b + v * all.b.stride + k * all.b.k_stride, all.b.k_stride, rest,
              all.b.is_across && all.b.has_pieces, Element<Stored>::narrow(-Number(0)), piece);
#pragma unroll
    for (unsigned j = 0; j < matmul_piece; ++j) to[j] = factor_of(piece[j]);
  }

  // Number [i][j] of the matrix is in row i at k + j.
  __forceinline__ __device__ void add(uint64_t k,
                                      const Number (&matrix)[matmul_piece][matmul_piece]) {
#pragma unroll
    for (unsigned v = 0; v < width; ++v) {
      if (width > 1 && v >= all.b.size) break;
      Number vector[matmul_piece];
      load_vector(v, k, vector);
#pragma unroll
      for (unsigned j = 0; j < matmul_piece; ++j) {
#pragma unroll
        for (unsigned i = 0; i < matmul_piece; ++i) {
          sum[i][v] = fused(matrix[i][j], vector[j], sum[i][v]);
        }
      }
    }
  }

  // Neighbours are along k: a group of 32 threads takes four rows, each lane its pieces.
  __forceinline__ __device__ void run_along_k(uint64_t row, uint64_t begin) {
    const uint64_t most = all.a.size - 1;
#pragma unroll 1
    for (uint64_t k = begin + threadIdx.x % matmul_lanes * matmul_piece; k < end;
         k += matmul_stride) {
      Number matrix[matmul_piece][matmul_piece];
#pragma unroll
      for (unsigned i = 0; i < matmul_piece; ++i) {
        const uint64_t line = row + i < most ? row + i : most;
        Stored piece[matmul_piece];
        load_some(a + line * all.a.stride + k, 1, end - k, all.a.has_pieces,
                  Element<Stored>::narrow(0), piece);
#pragma unroll
        for (unsigned j = 0; j < matmul_piece; ++j) matrix[i][j] = factor_of(piece[j]);
      }
      add(k, matrix);
    }
  }

  // Neighbours are along rows: eight threads take 32 rows of the pieces of a lane.
  __forceinline__ __device__ void run_along_rows(uint64_t row, unsigned lane, uint64_t begin) {
    const uint64_t rows = row < all.a.size ? all.a.size - row : 0;
#pragma unroll 1
    for (uint64_t k = begin + lane * matmul_piece; k < end; k += matmul_stride) {
      Number matrix[matmul_piece][matmul_piece];
#pragma unroll
      for (unsigned j = 0; j < matmul_piece; ++j) {
        Stored piece[matmul_piece];
        load_some(a + (k + j) * all.a.k_stride + row, 1, k + j < end ? rows : 0, all.a.has_pieces,
                  Element<Stored>::narrow(0), piece);
#pragma unroll
        for (unsigned i = 0; i < matmul_piece; ++i) matrix[i][j] = factor_of(piece[i]);
      }
      add(k, matrix);
    }
  }
};

template <class Stored, class Number>
inline __device__ void write_result(const Matmul& all, const VectorPlace& place, uint64_t base,
                                    uint64_t row, unsigned column, Number sum, Stored* out,
                                    Number* partial) {
  if (row >= all.a.size || column >= all.b.size) return;
  if (all.chunks == 1) {
    finish_one(all, out + base, row, column, sum);
  } else {
    const uint64_t matrix = place.batch * all.chunks + place.chunk;
    partial[(matrix * all.a.size + row) * all.b.size + column] = sum;
  }
}

template <unsigned width, class Stored, class Number>
__forceinline__ __device__ void multiply_vectors(const Matmul& all, uint64_t work, const Stored* a,
                                                 const Stored* b, Stored* out, Number* partial) {
  const VectorPlace place(all, work);
  uint64_t bases[3];
  find_places(all.batches, place.batch, bases);
  Vectors<Stored, width> vectors(all, a + bases[0], b + bases[1], place.end);
  const unsigned group = threadIdx.x / matmul_lanes;
  const unsigned lane = threadIdx.x % matmul_lanes;
  const uint64_t row = place.row + group * matmul_piece;
  if (all.a.is_across) {
    vectors.run_along_k(row, place.begin);
  } else {
    vectors.run_along_rows(place.row + threadIdx.x % 8 * matmul_piece, threadIdx.x / 8,
                           place.begin);
  }
  // By lane and row; the padding keeps the lanes of a row out of each other's banks.
  constexpr unsigned pitch = 33;
  auto* const shared = reinterpret_cast<Number*>(dynamic_shared());
  // The sums of the next vector move up each time, so that the code is there once.
#pragma unroll 1
  for (unsigned v = 0; v < all.b.size; ++v) {
    if (!all.a.is_across) {
      __syncthreads();
#pragma unroll
      for (unsigned i = 0; i < matmul_piece; ++i) {
        shared[threadIdx.x / 8 * pitch + threadIdx.x % 8 * 4 + i] = vectors.sum[i][0];
      }
      __syncthreads();
#pragma unroll
      for (unsigned i = 0; i < matmul_piece; ++i) {
        vectors.sum[i][0] = shared[lane * pitch + group * 4 + i];
      }
    }
    Number own = 0;
#pragma unroll
    for (unsigned i = 0; i < matmul_piece; ++i) {
      const Number joined = join_32<Sum>(vectors.sum[i][0]);
      if (lane == i) own = joined;
    }
    if (lane < 4) write_result(all, place, bases[2], row + lane, v, own, out, partial);
#pragma unroll
    for (unsigned next = 1; next < width; ++next) {
#pragma unroll
      for (unsigned i = 0; i < matmul_piece; ++i) {
        vectors.sum[i][next - 1] = vectors.sum[i][next];
      }
    }
  }
}

template <unsigned width, class Stored, class Number>
__forceinline__ __device__ void multiply_all(const Matmul& all, const Stored* a, const Stored* b,
                                             Stored* out, Number* partial) {
  const uint64_t blocks = all.row_tiles * all.chunks * all.batches.count;
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < blocks; work += gridDim.x) {
    multiply_vectors<width>(all, work, a, b, out, partial);
    __syncthreads();
  }
}

// The chunks of every sum in their order.
template <class Stored, class Number>
inline __device__ void join_chunks(const Matmul& all, Stored* out, const Number* partial) {
  const uint64_t size = all.a.size * all.b.size;
  each_index(size * all.batches.count, 1, [&](uint64_t index) {
    const uint64_t batch = index / size;
    const uint64_t inside = index % size;
    const Number* from = partial + batch * all.chunks * size + inside;
    Number sum = *from;
    for (uint64_t chunk = 1; chunk < all.chunks; ++chunk) {
      from += size;
      sum += *from;
    }
    uint64_t bases[3];
    find_places(all.batches, batch, bases);
    finish_one(all, out + bases[2], inside / all.b.size, inside % all.b.size, sum);
  });
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(type, width, Stored, Number)                                              \
  extern "C" __global__ void __launch_bounds__(256) hiptool_matmul_vectors_##type##_##width(     \
      hiptool_ops::Matmul all, const Stored* a, const Stored* b, Stored* out, Number* partial) { \
    hiptool_ops::multiply_all<width>(all, a, b, out, partial);                                   \
  }                                                                                              \
  HIPTOOL_EXPORT(hiptool_matmul_vectors_##type##_##width)
#define HIPTOOL_KERNELS(type, Stored, Number)                                                   \
  HIPTOOL_KERNEL(type, 1, Stored, Number);                                                      \
  HIPTOOL_KERNEL(type, 8, Stored, Number);                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                             \
      hiptool_matmul_join_##type(hiptool_ops::Matmul all, Stored* out, const Number* partial) { \
    hiptool_ops::join_chunks(all, out, partial);                                                \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_matmul_join_##type)

HIPTOOL_KERNELS(f32, float, float);
HIPTOOL_KERNELS(f64, double, double);
HIPTOOL_KERNELS(f16, hiptool_ops::F16, float);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16, float);
