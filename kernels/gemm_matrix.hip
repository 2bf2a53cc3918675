// SPDX-License-Identifier: MIT
// c = a b of square matrices by matrix instructions, sums in f32: a block computes 128 x 256 of c,
// each of its eight warps 64 x 64. The host launches it only on devices that have them.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

constexpr unsigned tile_rows = 128;
constexpr unsigned tile_columns = 256;

// Sixteen rows of blocks advance through the columns together, so that concurrent blocks share the
// cached parts of both matrices.
struct Place {
  uint64_t row;
  uint64_t column;

  __device__ explicit Place(uint64_t n) {
    constexpr uint64_t most_rows = 16;
    const uint64_t rows = n / tile_rows;
    const uint64_t columns = n / tile_columns;
    const uint64_t group = blockIdx.x / (most_rows * columns);
    const uint64_t first = group * most_rows;
    const uint64_t of_group = rows - first < most_rows ? rows - first : most_rows;
    const uint64_t in_group = blockIdx.x % (most_rows * columns);
    row = (first + in_group % of_group) * tile_rows;
    column = in_group / of_group * tile_columns;
  }
};

struct Half {};
struct Bfloat {};

#if defined(__CUDA__) || defined(__CUDACC__)

constexpr unsigned step = 16;   // of one matrix instruction
constexpr unsigned depth = 32;  // of the pieces in shared memory
constexpr unsigned stages = 4;  // pieces in flight: one is read while three are copied
constexpr unsigned unit = 8;    // numbers in 16 bytes
constexpr unsigned threads = 256;
constexpr unsigned warp_side = 64;
constexpr unsigned a_bytes = tile_rows * depth * 2;
constexpr unsigned b_bytes = tile_columns * depth * 2;

struct alignas(128) Line {
  uint4 units[8];
};

// Units are permuted from row to row, so that neither eight concurrent writes nor eight concurrent
// reads share a bank.
inline __device__ unsigned a_offset(unsigned row, unsigned at) {
  return (row * (depth / unit) + (at ^ (row >> 1 & 3U))) * 16;
}
inline __device__ unsigned b_offset(unsigned k, unsigned at) {
  return (k * (tile_columns / unit) + (at ^ (k & 7U))) * 16;
}

inline __device__ uint32_t shared_address(const void* data) {
  uint32_t address;
  asm("{ .reg .u64 long; cvta.to.shared.u64 long, %1; cvt.u32.u64 %0, long; }"
      : "=r"(address)
      : "l"(data));
  return address;
}

inline __device__ void begin_copy(uint32_t to, const uint16_t* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
inline __device__ void end_stage() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until all stages but the last two committed ones have arrived, for all threads.
inline __device__ void await_stage() {
  static_assert(stages == 4, "the number below is two less");
  asm volatile("cp.async.wait_group 2;" ::: "memory");
  __syncthreads();
}

// Four matrices of 8 x 8; lane i names row i % 8 of matrix i / 8.
inline __device__ void load_matrices(uint32_t (&to)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}
inline __device__ void load_across(uint32_t (&to)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

inline __device__ void multiply_add(Half, float (&c)[4], const uint32_t (&a)[4],
                                    const uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
inline __device__ void multiply_add(Bfloat, float (&c)[4], const uint32_t (&a)[4],
                                    const uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A thread's share of the copies to shared memory.
struct Copies {
  static constexpr unsigned a_row_units = depth / unit;
  static constexpr unsigned b_row_units = tile_columns / unit;
  static constexpr unsigned a_rows = threads / a_row_units;  // that all threads copy at once
  static constexpr unsigned b_rows = threads / b_row_units;
  const uint16_t* from_a;
  const uint16_t* from_b;
  uint64_t n;
  uint32_t to_a;
  uint32_t to_b;

  // Starts the copies of the next piece.
  __device__ void begin(unsigned stage) {
#pragma unroll
    for (unsigned row = 0; row < tile_rows; row += a_rows) {
      begin_copy(to_a + stage * a_bytes + a_offset(row, 0), from_a + row * n);
    }
#pragma unroll
    for (unsigned k = 0; k < depth; k += b_rows) {
      begin_copy(to_b + stage * b_bytes + b_offset(k, 0), from_b + k * n);
    }
    from_a += depth;
    from_b += depth * n;
  }
};

// Operands of a warp in one step: 64 rows of a by 64 columns of b.
struct Operands {
  uint32_t a[4][4];
  uint32_t b[4][4];

  __device__ void load(uint32_t shared_a, uint32_t shared_b, unsigned row, unsigned column,
                       unsigned k) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      load_matrices(a[i], shared_a + a_offset(row + 16 * i + lane % 16, k / unit + lane / 16));
      load_across(b[i], shared_b + b_offset(k + lane % 16, column / unit + 2 * i + lane / 16));
    }
  }

  template <class Type>
  __device__ void multiply(Type type, float (&sum)[4][8][4]) const {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) multiply_add(type, sum[i][j], a[i], b[j / 2] + j % 2 * 2);
    }
  }
};

// Loads the operands of the next step while this step is multiplied, which saves a quarter of the
// time.
template <class Type>
inline __device__ void multiply(Type type, const uint16_t* a, const uint16_t* b, uint4* c,
                                uint64_t n) {
  HIP_DYNAMIC_SHARED(Line, shared);
  const uint32_t shared_a = shared_address(shared);
  const uint32_t shared_b = shared_a + stages * a_bytes;
  const Place place(n);
  const unsigned thread = threadIdx.x;
  const unsigned lane = thread % 32;
  const unsigned row = thread / 32 % 2 * warp_side;
  const unsigned column = thread / 64 * warp_side;
  const unsigned a_row = thread / Copies::a_row_units;
  const unsigned a_unit = thread % Copies::a_row_units;
  const unsigned b_row = thread / Copies::b_row_units;
  const unsigned b_unit = thread % Copies::b_row_units;
  Copies copies{a + (place.row + a_row) * n + a_unit * unit,
                b + b_row * n + place.column + b_unit * unit, n, shared_a + a_offset(a_row, a_unit),
                shared_b + b_offset(b_row, b_unit)};

  const uint64_t pieces = n / depth;  // at least 8
#pragma unroll
  for (unsigned stage = 0; stage + 1 < stages; ++stage) {
    copies.begin(stage);
    end_stage();
  }
  float sum[4][8][4] = {};
  Operands even;
  Operands odd;
  await_stage();
  even.load(shared_a, shared_b, row, column, 0);
  unsigned stage = 0;
#pragma unroll 1
  for (uint64_t piece = 0; piece < pieces; ++piece) {
    odd.load(shared_a + stage * a_bytes, shared_b + stage * b_bytes, row, column, step);
    // The previous piece is free: all threads have loaded its last operands.
    if (piece + stages - 1 < pieces) copies.begin((stage + stages - 1) % stages);
    end_stage();
    even.multiply(type, sum);
    stage = (stage + 1) % stages;
    await_stage();
    even.load(shared_a + stage * a_bytes, shared_b + stage * b_bytes, row, column, 0);
    odd.multiply(type, sum);
  }

  auto* const out = reinterpret_cast<uint64_t*>(c);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
    for (unsigned j = 0; j < 8; ++j) {
#pragma unroll
      for (unsigned k = 0; k < 2; ++k) {
        const uint64_t at = (place.row + row + 16 * i + 8 * k + lane / 4) * n + place.column +
                            column + 8 * j + lane % 4 * 2;
        const uint64_t high = __float_as_uint(sum[i][j][2 * k + 1]);
        out[at / 2] = high << 32 | __float_as_uint(sum[i][j][2 * k]);
      }
    }
  }
}

#elif defined(__HIP__)
#error "matrix instructions of AMD are not used"
#else

inline __device__ float widen(Half, uint16_t bits) { return f16_to_float(bits); }
inline __device__ float widen(Bfloat, uint16_t bits) { return bf16_to_float(bits); }

// For the CPU, without matrix instructions: the same sums, one column per thread.
template <class Type>
inline __device__ void multiply(Type type, const uint16_t* a, const uint16_t* b, uint4* c,
                                uint64_t n) {
  const Place place(n);
  const uint64_t column = place.column + threadIdx.x;
  for (uint64_t row = place.row; row < place.row + tile_rows; ++row) {
    float sum = 0;
    for (uint64_t k = 0; k < n; ++k) {
      sum = __fmaf_rn(widen(type, a[row * n + k]), widen(type, b[k * n + column]), sum);
    }
    reinterpret_cast<float*>(c)[row * n + column] = sum;
  }
}

#endif

}  // namespace

// n is a multiple of 256, and there are n / 128 times n / 256 blocks of 256 threads with 96 KiB of
// shared memory.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_gemm_matrix_f16(const uint16_t* a, const uint16_t* b, uint4* c, uint64_t n) {
  multiply(Half(), a, b, c, n);
}

extern "C" __global__ void __launch_bounds__(256)
    hiptool_gemm_matrix_bf16(const uint16_t* a, const uint16_t* b, uint4* c, uint64_t n) {
  multiply(Bfloat(), a, b, c, n);
}

HIPTOOL_EXPORT(hiptool_gemm_matrix_f16);
HIPTOOL_EXPORT(hiptool_gemm_matrix_bf16);
