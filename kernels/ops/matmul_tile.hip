// SPDX-License-Identifier: MIT
// Products of matrices of 16-bit numbers by matrix instructions, sums in f32: a block computes 128
// x 256 results, each of its eight warps 64 x 64. The host launches it only on devices that have
// them. On the processor NVIDIA's are imitated, so that tests check where operands are.
#if defined(__AMDGCN__)
#include "hiptool_units_amd.h"
#else
#include "hiptool_unit_tiles.h"
#endif

using namespace hiptool_device;

namespace hiptool_ops {

#if !defined(__AMDGCN__)

constexpr unsigned step = 16;         // of one matrix instruction
constexpr unsigned piece_depth = 32;  // of the pieces in shared memory
constexpr unsigned unit = 8;          // numbers in 16 bytes
constexpr unsigned block_threads = 256;
constexpr unsigned warp_side = 64;
constexpr unsigned tile_rows = matmul_unit_rows;
constexpr unsigned tile_columns = matmul_unit_columns;

#if defined(__CUDA__) || defined(__CUDACC__)

constexpr unsigned stages = matmul_unit_stages_nvidia;  // one is read while three are copied

// Waits until all stages but the last two committed ones have arrived, for all threads.
inline __device__ void await_stage() {
  await_own_copies<stages - 2>();
  __syncthreads();
}
inline __device__ void await_all() {
  await_own_copies<0>();
  __syncthreads();
}

// Four matrices of 8 x 8; lane i names row i % 8 of matrix i / 8. Of each, lane i gets elements 2
// (i % 4) and the next of row i / 4, or of column i / 4.
template <bool is_turned>
inline __device__ void load_matrices(uint32_t (&to)[4], uint32_t row) {
  if constexpr (is_turned) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
  }
}

#define HIPTOOL_MULTIPLY_ADD(Stored, type)                                              \
  inline __device__ void multiply_add(Stored, float(&c)[4], const uint32_t(&a)[4],      \
                                      const uint32_t* b) {                              \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                 \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                       \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));   \
  }
HIPTOOL_MULTIPLY_ADD(F16, "f16")
HIPTOOL_MULTIPLY_ADD(Bf16, "bf16")
#undef HIPTOOL_MULTIPLY_ADD

#else

constexpr unsigned stages = matmul_unit_stages;

inline __device__ void await_stage() { __syncthreads(); }
inline __device__ void await_all() { __syncthreads(); }

template <bool is_turned>
inline __device__ void load_matrices(uint32_t (&to)[4], uint32_t row) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    to[matrix] = 0;
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned line = is_turned ? lane % 4 * 2 + i : lane / 4;
      const unsigned column = is_turned ? lane / 4 : lane % 4 * 2 + i;
      const uint32_t from = __shfl(row, static_cast<int>(8 * matrix + line), 32);
      const auto* const bits = reinterpret_cast<const uint8_t*>(shared_bytes(from) + 2 * column);
      to[matrix] |= read_16(bits) << (16 * i);
    }
  }
}

// Of a 16 x 16 lane i has elements 2 (i % 4) and the next of row i / 4: of columns 0 to 7 in words
// 0 and 1 (rows 8 to 15), of the other columns in words 2 and 3. Likewise of columns of b.
template <class Stored>
inline __device__ void multiply_add(Stored, float (&c)[4], const uint32_t (&a)[4],
                                    const uint32_t* b) {
  const unsigned lane = threadIdx.x % 32;
  Stored rows[2][16];
  Stored columns[2][16];
  for (unsigned pair = 0; pair < 8; ++pair) {
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row_lane = lane / 4 * 4 + pair % 4;
      const unsigned column_lane = (lane % 4 * 2 + i) * 4 + pair % 4;
      const uint32_t left = __shfl(a[pair / 4 * 2 + i], static_cast<int>(row_lane), 32);
      const uint32_t right = __shfl(b[pair / 4], static_cast<int>(column_lane), 32);
      for (unsigned k = 0; k < 2; ++k) {
        rows[i][2 * pair + k].bits = static_cast<uint16_t>(left >> (16 * k));
        columns[i][2 * pair + k].bits = static_cast<uint16_t>(right >> (16 * k));
      }
    }
  }
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned k = 0; k < 16; ++k) {
      c[i] = fused(factor_of(rows[i / 2][k]), factor_of(columns[i % 2][k]), c[i]);
    }
  }
}

#endif

// Where units of an operand's tile are in shared memory.
template <unsigned side_, bool is_across_>
struct UnitPlaces {
  enum : unsigned {
    side = side_,
    depth = piece_depth,
    is_across = is_across_,
    threads = block_threads,
    fetches_more = false,
    line_bytes = (is_across_ ? depth : side) * 2
  };

  static __device__ uint32_t offset(unsigned line, unsigned at) {
    const unsigned mixed = is_across_ ? at ^ (line >> 1 & 3U) : at ^ (line & 7U);
    return line * line_bytes + mixed * 16;
  }
};

// Operands of a warp in one step: 64 rows of a by 64 columns of b.
template <class TileA, bool a_across, class TileB, bool b_across>
struct UnitOperands {
  uint32_t a[4][4];
  uint32_t b[4][4];

  __device__ void load(uint32_t shared_a, uint32_t shared_b, unsigned row, unsigned column,
                       unsigned k) {
    const unsigned lane = threadIdx.x % 32;
    // Places of the lane's line in 16 x 16, where the second matrix of 8 x 8 is below the first...
    const unsigned below = lane % 16;
    const unsigned right = lane / 16;
    // ...or to its right.
    const unsigned line = lane / 16 * 8 + lane % 8;
    const unsigned beside = lane / 8 % 2;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned at_a = row + 16 * i;
      const unsigned at_b = column + 16 * i;
      if constexpr (a_across) {
        load_matrices<false>(a[i], shared_a + TileA::offset(at_a + below, k / unit + right));
      } else {
        load_matrices<true>(a[i], shared_a + TileA::offset(k + line, at_a / unit + beside));
      }
      if constexpr (b_across) {
        load_matrices<false>(b[i], shared_b + TileB::offset(at_b + line, k / unit + beside));
      } else {
        load_matrices<true>(b[i], shared_b + TileB::offset(k + below, at_b / unit + right));
      }
    }
  }

  template <class Stored>
  __device__ void multiply(Stored type, float (&sum)[4][8][4]) const {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) multiply_add(type, sum[i][j], a[i], b[j / 2] + j % 2 * 2);
    }
  }
};

// The results of a warp inside the tensor, where they are only narrowed.
template <class Stored>
__forceinline__ __device__ void store_sums(float alpha, Stored* to, uint64_t stride,
                                           float (&sum)[4][8][4]) {
#pragma unroll 1
  for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
    for (unsigned k = 0; k < 2; ++k) {
      Stored* const row = to + 8 * k * stride;
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) {
        const Stored results[2] = {Element<Stored>::narrow(alpha * sum[0][j][2 * k]),
                                   Element<Stored>::narrow(alpha * sum[0][j][2 * k + 1])};
        store_piece<2>(row + 8 * j, results);
      }
    }
    to += 16 * stride;
    // The next sums move to the front, so that there is one copy of the code.
#pragma unroll
    for (unsigned next = 1; next < 4; ++next) {
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) {
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) sum[next - 1][j][k] = sum[next][j][k];
      }
    }
  }
}

// The same at edges of the tensor, and where results are added to it or are parts of sums.
template <class Stored>
__forceinline__ __device__ void finish_sums(const Matmul& all, const TilePlace& place, Stored* out,
                                            float* partial, uint64_t row, uint64_t column,
                                            float (&sum)[4][8][4]) {
#pragma unroll 1
  for (unsigned i = 0; i < 4; ++i) {
#pragma unroll 1
    for (unsigned j = 0; j < 8; ++j) {
#pragma unroll
      for (unsigned k = 0; k < 2; ++k) {
        finish_two(all, place, out, partial, row + 16 * i + 8 * k, column + 8 * j,
                   sum[0][0] + 2 * k);
      }
#pragma unroll
      for (unsigned next = 1; next < 8; ++next) {
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) sum[0][next - 1][k] = sum[0][next][k];
      }
    }
#pragma unroll
    for (unsigned next = 1; next < 4; ++next) {
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) {
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) sum[next - 1][j][k] = sum[next][j][k];
      }
    }
  }
}

// What a warp does with the pieces of a tile one after the other. Loads the operands of the next
// step while this step is multiplied, which saves a quarter of the time.
template <class Stored, bool a_across, bool b_across>
struct UnitLoop {
  using TileA = UnitTile<UnitPlaces<tile_rows, a_across>>;
  using TileB = UnitTile<UnitPlaces<tile_columns, b_across>>;
  using Operands = UnitOperands<TileA, a_across, TileB, b_across>;
  static_assert(unsigned{TileA::bytes} + unsigned{TileB::bytes} == matmul_unit_piece_bytes,
                "the host knows the size");

  TileA of_a;
  TileB of_b;
  uint32_t shared_a;
  uint32_t shared_b;
  unsigned row;  // of the warp's first result in the tile
  unsigned column;
  uint64_t left;  // elements of k that are not yet copied
  unsigned stage;
  bool is_used;
  Operands even;
  Operands odd;

  __device__ bool is_inside() const { return of_a.rest == tile_rows && of_b.rest == tile_columns; }

  template <bool is_whole>
  __forceinline__ __device__ void copy_next(unsigned to) {
    if constexpr (is_whole) {
      of_a.begin(to);
      of_b.begin(to);
      left -= piece_depth;
    } else if (left > 0) {
      of_a.begin(to, left);
      of_b.begin(to, left);
      left = left < piece_depth ? 0 : left - piece_depth;
    }
    end_stage();
  }

  __forceinline__ __device__ void load(Operands& operands, unsigned k) const {
    operands.load(shared_a + stage * TileA::bytes, shared_b + stage * TileB::bytes, row, column, k);
  }

  __forceinline__ __device__ void begin() {
#pragma unroll
    for (unsigned to = 0; to + 1 < stages; ++to) copy_next<false>(to);
    await_stage();
    stage = 0;
    load(even, 0);
  }

  template <bool is_whole>
  __forceinline__ __device__ void multiply_piece(float (&sum)[4][8][4]) {
    load(odd, step);
    // The previous piece is free: all threads have loaded its last operands.
    copy_next<is_whole>((stage + stages - 1) % stages);
    if (is_used) even.multiply(Stored(), sum);
    stage = (stage + 1) % stages;
    await_stage();
    load(even, 0);
    if (is_used) odd.multiply(Stored(), sum);
  }
};

template <class Stored, bool a_across, bool b_across>
__forceinline__ __device__ void multiply_by_units(const Matmul& all, uint64_t work, const Stored* a,
                                                  const Stored* b, Stored* out, float* partial) {
  using Loop = UnitLoop<Stored, a_across, b_across>;
  const uint32_t shared_a = shared_address(dynamic_shared());
  const uint32_t shared_b = shared_a + stages * Loop::TileA::bytes;
  const TilePlace place(all, work);
  uint64_t bases[3];
  find_places(all.batches, place.batch, bases);
  const unsigned lane = threadIdx.x % 32;
  const unsigned row = threadIdx.x / 32 % 2 * warp_side;
  const unsigned column = threadIdx.x / 64 * warp_side;
  const uint64_t first_row = place.row * tile_rows;
  const uint64_t first_column = place.column * tile_columns;
  const uint64_t begin = place.chunk * all.chunk;
  const uint64_t count = all.k - begin < all.chunk ? all.k - begin : all.chunk;
  // Warps beyond the result could skip their work, but the test costs the others more.
  const bool is_used =
      !is_imitation || (first_row + row < all.a.size && first_column + column < all.b.size);
  Loop loop = {
      {all.a, reinterpret_cast<const uint16_t*>(a + bases[0]), first_row, begin, shared_a},
      {all.b, reinterpret_cast<const uint16_t*>(b + bases[1]), first_column, begin, shared_b},
      shared_a,
      shared_b,
      row,
      column,
      count,
      0,
      is_used,
      {},
      {}};
  float sum[4][8][4] = {};
  uint64_t pieces = (count + piece_depth - 1) / piece_depth;
  loop.begin();
  // A loop of its own for pieces after which others are copied whole: tests for the rest would be a
  // third of its instructions.
  if (loop.is_inside()) {
#pragma unroll 1
    for (; loop.left >= piece_depth; --pieces) loop.template multiply_piece<true>(sum);
  }
#pragma unroll 1
  for (; pieces > 0; --pieces) loop.template multiply_piece<false>(sum);
  await_all();

  const uint64_t at_row = first_row + row + lane / 4;
  const uint64_t at_column = first_column + column + lane % 4 * 2;
  if (all.out_pieces && !all.reads_out && all.chunks == 1 && loop.is_inside()) {
    store_sums(static_cast<float>(all.alpha), out + bases[2] + at_row * all.out_stride + at_column,
               all.out_stride, sum);
  } else {
    finish_sums(all, place, out + bases[2], partial, at_row, at_column, sum);
  }
}

#endif

template <class Stored, bool a_across, bool b_across>
__forceinline__ __device__ void multiply_tiles(const Matmul& all, const Stored* a, const Stored* b,
                                               Stored* out, float* partial) {
  const uint64_t tiles = all.row_tiles * all.column_tiles * all.chunks * all.batches.count;
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < tiles; work += gridDim.x) {
    multiply_by_units<Stored, a_across, b_across>(all, work, a, b, out, partial);
  }
}

}  // namespace hiptool_ops

// Operands are aligned to 16 bytes, and so are all their lines. Blocks of 256 threads have
// matmul_unit_stages pieces of matmul_unit_piece_bytes in shared memory. n: neighbours as in a
// row-major matrix, t: in a transposed one.
#define HIPTOOL_KERNEL(type, Stored, layout, a_across, b_across)                                \
  extern "C" __global__ void __launch_bounds__(256) hiptool_matmul_units_##type##_##layout(     \
      hiptool_ops::Matmul all, const Stored* a, const Stored* b, Stored* out, float* partial) { \
    hiptool_ops::multiply_tiles<Stored, a_across, b_across>(all, a, b, out, partial);           \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_matmul_units_##type##_##layout)
#define HIPTOOL_KERNELS(type, Stored)             \
  HIPTOOL_KERNEL(type, Stored, nn, true, false);  \
  HIPTOOL_KERNEL(type, Stored, nt, true, true);   \
  HIPTOOL_KERNEL(type, Stored, tn, false, false); \
  HIPTOOL_KERNEL(type, Stored, tt, false, true)

HIPTOOL_KERNELS(f16, hiptool_ops::F16);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16);
