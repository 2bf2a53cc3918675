// SPDX-License-Identifier: MIT
// Rows of the matrices of model files in pieces of 16 columns, and the order of a row's product
// with a vector, which depends on the number of columns only: piece p belongs to lane p % 64, each
// lane adds its elements in their order by fused multiply-add, and one tree joins the lanes (those
// that are 32, 16, .. apart).
#pragma once
#include "hiptool_blocks.h"
#include "hiptool_elements.h"
#include "hiptool_layers.h"

namespace hiptool_ops {

using namespace hiptool_device;

// The elements of a piece of a row, as f32; those past its end are 0. For a type apart nothing is
// specialised (see type_of_memory).
template <unsigned values, unsigned bytes,
          void (*four_values)(const hiptool_blocks::Place&, float*), bool is_apart = false>
struct BlockRow {
  static __forceinline__ __device__ void load_whole(const uint8_t* row, const uint16_t* grids,
                                                    uint32_t piece, float* numbers) {
    constexpr uint32_t pieces = values / dot_piece;
    const uint8_t* const block = row + static_cast<uint64_t>(piece / pieces) * bytes;
    // A multiple of 16, from which compilers see that all share what a scale is made of.
    const uint32_t i = piece % pieces * dot_piece;
#pragma unroll
    for (uint32_t j = 0; j < dot_piece; j += 4) four_values({block, grids, i + j}, numbers + j);
  }
  static __forceinline__ __device__ void load(const FileMatrix&, const uint8_t* row,
                                              const uint16_t* grids, uint32_t piece,
                                              float* numbers) {
    load_whole(row, grids, piece, numbers);
  }
};

// Tests compile this, too, for the processor as if it were for NVIDIA's GPUs.
#if defined(__CUDA_ARCH__) || defined(HIPTOOL_AS_NVIDIA)
// Bytes of a piece that belong together are loaded in as few accesses as their addresses allow: a
// load of two or four bytes takes as long as one of 16, and compilers do not join them.
struct PieceBytes {
  uint32_t words[4];

  // Of a multiple of 16.
  static __forceinline__ __device__ PieceBytes at_unit(const uint8_t* from) {
    const uint4 unit = load_unit(reinterpret_cast<const uint4*>(from));
    return {{unit.x, unit.y, unit.z, unit.w}};
  }
  // Of an even address: the two or three aligned groups of 8 bytes that have some of them.
  static __forceinline__ __device__ PieceBytes at_even(const uint8_t* from) {
    const auto past = static_cast<uint32_t>(reinterpret_cast<uint64_t>(from) % 8);
    const auto* const at = reinterpret_cast<const uint64_t*>(from - past);
    const uint64_t units[3] = {at[0], at[1], at[(past + 15) / 8]};
    const bool is_second = (past & 4U) != 0;
    uint32_t next[5];
#pragma unroll
    for (uint32_t j = 0; j < 5; ++j) {
      const uint32_t first = static_cast<uint32_t>(units[j / 2] >> (j % 2 * 32));
      const uint32_t second = static_cast<uint32_t>(units[(j + 1) / 2] >> ((j + 1) % 2 * 32));
      next[j] = is_second ? second : first;
    }
    const uint32_t selector = (past & 2U) != 0 ? 0x5432U : 0x3210U;
    PieceBytes bytes;
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      bytes.words[j] = hiptool_blocks::chosen_bytes(next[j], next[j + 1], selector);
    }
    return bytes;
  }
};

template <>
__forceinline__ __device__ void BlockRow<256, 144, hiptool_blocks::q4_k_values>::load_whole(
    const uint8_t* row, const uint16_t*, uint32_t piece, float* numbers) {
  const uint8_t* const block = row + static_cast<uint64_t>(piece / 16) * 144;
  const uint32_t i = piece % 16 * dot_piece;
  const PieceBytes bytes = PieceBytes::at_unit(block + 16 + i / 64 * 32 + i % 32);
  const hiptool_blocks::ScaleOfK scale({block, nullptr, i});
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    hiptool_blocks::scale_and_subtract(bytes.words[j] >> (i / 32 % 2 * 4) & 0x0F0F0F0FU, scale.step,
                                       scale.minimum, numbers + 4 * j);
  }
}

template <>
__forceinline__ __device__ void BlockRow<256, 176, hiptool_blocks::q5_k_values>::load_whole(
    const uint8_t* row, const uint16_t*, uint32_t piece, float* numbers) {
  const uint8_t* const block = row + static_cast<uint64_t>(piece / 16) * 176;
  const uint32_t i = piece % 16 * dot_piece;
  const PieceBytes low = PieceBytes::at_unit(block + 48 + i / 64 * 32 + i % 32);
  const PieceBytes high = PieceBytes::at_unit(block + 16 + i % 32);
  const hiptool_blocks::ScaleOfK scale({block, nullptr, i});
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t nibbles = low.words[j] >> (i / 32 % 2 * 4) & 0x0F0F0F0FU;
    const uint32_t fifth = high.words[j] >> (i / 32) & 0x01010101U;
    hiptool_blocks::scale_and_subtract(nibbles | fifth << 4, scale.step, scale.minimum,
                                       numbers + 4 * j);
  }
}

template <>
__forceinline__ __device__ void BlockRow<256, 210, hiptool_blocks::q6_k_values>::load_whole(
    const uint8_t* row, const uint16_t*, uint32_t piece, float* numbers) {
  const uint8_t* const block = row + static_cast<uint64_t>(piece / 16) * 210;
  const uint32_t i = piece % 16 * dot_piece;
  const PieceBytes low = PieceBytes::at_even(block + i / 128 * 64 + i % 64);
  const PieceBytes high = PieceBytes::at_even(block + 128 + i / 128 * 32 + i % 32);
  const auto own = static_cast<int8_t>(block[192 + i / 16]);
  const float scale = hiptool_blocks::half_at(block + 208) * static_cast<float>(own);
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t nibbles = low.words[j] >> (i % 128 / 64 * 4) & 0x0F0F0F0FU;
    const uint32_t pairs = high.words[j] >> (i % 128 / 32 * 2) & 0x03030303U;
    hiptool_blocks::scale_bytes(nibbles | pairs << 4, scale, 32, numbers + 4 * j);
  }
}

template <>
__forceinline__ __device__ void BlockRow<32, 34, hiptool_blocks::q8_0_values>::load_whole(
    const uint8_t* row, const uint16_t*, uint32_t piece, float* numbers) {
  const uint8_t* const block = row + static_cast<uint64_t>(piece / 2) * 34;
  const PieceBytes bytes = PieceBytes::at_even(block + 2 + piece % 2 * dot_piece);
  const float scale = hiptool_blocks::half_at(block);
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    hiptool_blocks::scale_bytes(bytes.words[j] ^ 0x80808080U, scale, 128, numbers + 4 * j);
  }
}
#endif

// NVIDIA's assembler delays loads until their bytes are needed, but not across a barrier.
inline __device__ void keep_loads_before() {
#if defined(__CUDA_ARCH__)
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
#endif
}

inline __device__ float to_single(float value) { return value; }
inline __device__ float to_single(double value) { return static_cast<float>(value); }

template <class Stored>
struct PlainRow {
  // Of rows of whole pieces.
  static __forceinline__ __device__ void load_whole(const uint8_t* row, const uint16_t*,
                                                    uint32_t piece, float* numbers) {
    Stored stored[dot_piece];
    load_piece<dot_piece>(
        reinterpret_cast<const Stored*>(row) + static_cast<uint64_t>(piece) * dot_piece, stored);
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) {
      numbers[j] = to_single(Element<Stored>::widen(stored[j]));
    }
  }
  static __forceinline__ __device__ void load(const FileMatrix& matrix, const uint8_t* row,
                                              const uint16_t* grids, uint32_t piece,
                                              float* numbers) {
    if (matrix.has_pieces != 0) {
      load_whole(row, grids, piece, numbers);
      return;
    }
    const uint64_t k = static_cast<uint64_t>(piece) * dot_piece;
    const Stored* const from = reinterpret_cast<const Stored*>(row) + k;
    const uint64_t rest = matrix.columns - k;
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) {
      numbers[j] = j < rest ? to_single(Element<Stored>::widen(from[j])) : 0;
    }
  }
};

// Joins the sums of a row's lanes in shared memory.
inline __device__ float join_lanes(const float* sums) {
  float joined[dot_lanes / 2];
#pragma unroll
  for (unsigned i = 0; i < dot_lanes / 2; ++i) joined[i] = sums[i] + sums[i + dot_lanes / 2];
#pragma unroll
  for (unsigned distance = dot_lanes / 4; distance > 0; distance /= 2) {
#pragma unroll
    for (unsigned i = 0; i < distance; ++i) joined[i] = joined[i] + joined[i + distance];
  }
  return joined[0];
}

// On the processor one thread of a block does the work of all, lane by lane: to switch between
// threads that wait for each other's sums takes longer than what each of them computes. Compiled as
// if for NVIDIA's GPUs, threads share the work as on a device.
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__) || defined(HIPTOOL_AS_NVIDIA)
enum : bool { works_alone = false };
#else
enum : bool { works_alone = true };
#endif
// From one result to the next one of the same thread.
constexpr unsigned result_step = works_alone ? 1 : unsigned{layer_threads};

// A row's product. Numbers that are unpacked in different ways may differ in the sign of a 0, and
// so may sums of products that are too small: a product has none.
inline __device__ float product_of(float sum) { return canonical(sum + 0.0F); }

// Whether another thread does the work of this one.
inline __device__ bool is_idle() {
  if constexpr (works_alone) {
    if (threadIdx.x != 0) return true;
#if !defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
    hiptool_cpu::work_alone();
#endif
  }
  return false;
}

inline __device__ void wait_for_block() {
  if constexpr (!works_alone) __syncthreads();
}

// Calls store(result, sum) once for each of the results of a block, whose lanes' sums are in shared
// memory.
template <unsigned results, class Store>
__forceinline__ __device__ void join_results(const float* sums, Store store) {
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__)
  static_assert(results % (layer_threads / 32) == 0, "all groups of 32 threads have equally many");
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned n = 0; n < results / (layer_threads / 32); ++n) {
    const unsigned result = n * (layer_threads / 32) + threadIdx.x / 32;
    const float* const own = sums + result * dot_pitch;
    float sum[1] = {own[lane] + own[lane + 32]};
    hiptool_device::add_across<16, 1>(sum);
    if (lane == 0) store(result, sum[0]);
  }
#else
  for (unsigned result = threadIdx.x; result < results; result += result_step) {
    store(result, join_lanes(sums + result * dot_pitch));
  }
#endif
}

// Calls body with the type of rows that has that number; nothing for others. Of types apart only
// Q8_0 differs: pieces of the others take no units.
template <class Body>
__forceinline__ __device__ void with_rows(uint32_t type, Body body) {
#if !defined(__AMDGCN__)
  if (type == hiptool_blocks::q8_0 + apart) {
    body(BlockRow<32, 34, hiptool_blocks::q8_0_values, true>());
    return;
  }
  type &= ~apart;
#endif
  switch (type) {
#define HIPTOOL_QUANTISED(name, text, number, values, bytes, ...)   \
  case hiptool_blocks::name:                                        \
    body(BlockRow<values, bytes, hiptool_blocks::name##_values>()); \
    break;
#include "hiptool_quantised.def"
    case static_cast<uint32_t>(PlainType::f32): body(PlainRow<float>()); break;
    case static_cast<uint32_t>(PlainType::f16): body(PlainRow<F16>()); break;
    case static_cast<uint32_t>(PlainType::bf16): body(PlainRow<Bf16>()); break;
    case static_cast<uint32_t>(PlainType::f64): body(PlainRow<double>()); break;
    default: break;
  }
}

// A piece of x; -0 past the end, so that the product with 0 changes no sum.
inline __device__ void load_x(const FileProduct& all, const float* from, uint64_t rest,
                              float* numbers) {
  if (all.x_pieces != 0) {
    load_piece<dot_piece>(from, numbers);
    return;
  }
#pragma unroll
  for (unsigned j = 0; j < dot_piece; ++j) numbers[j] = j < rest ? from[j] : -0.0F;
}

template <unsigned width>
struct StoreResult {
  const FileProduct& all;
  uint64_t first_row;
  uint64_t first_token;
  float* out;
  __forceinline__ __device__ void operator()(unsigned result, float sum) const {
    const uint64_t row = first_row + result / width;
    const uint64_t token = first_token + result % width;
    if (row >= all.matrix.rows || token >= all.tokens) return;
    out[token * all.out_stride + row * all.out_step] = product_of(sum);
  }
};

// Rows and tokens of a team of a block.
template <unsigned rows, unsigned width>
struct Tile {
  uint64_t first_row;
  uint64_t first_token;
  unsigned team;
  unsigned lane;
  float sums[rows][width];

  __device__ Tile(uint64_t row, uint64_t token)
      : first_row(row),
        first_token(token),
        team(threadIdx.x / dot_lanes),
        lane(threadIdx.x % dot_lanes) {
    clear();
  }

  // Calls load(lines, piece, numbers) for each piece.
  template <class Load>
  __forceinline__ __device__ void add(const FileProduct& all, const uint8_t* weights,
                                      const float* x, Load load) {
    if constexpr (works_alone) {
      for (team = 0; team < dot_teams && first_row + team * rows < all.matrix.rows; ++team) {
        for (lane = 0; lane < dot_lanes; ++lane) {
          clear();
          add_lane(all, weights, x, load);
          keep();
        }
      }
    } else {
      add_lane(all, weights, x, load);
    }
  }

  // Joins the lanes and calls store(result, sum) for each result.
  template <class Store>
  __forceinline__ __device__ void finish(Store store) const {
    if constexpr (!works_alone) keep();
    wait_for_block();
    join_results<dot_teams * rows * width>(reinterpret_cast<const float*>(dynamic_shared()), store);
  }

 private:
  __forceinline__ __device__ void clear() {
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
#pragma unroll
      for (unsigned w = 0; w < width; ++w) sums[r][w] = 0;
    }
  }

  // All pieces of this lane.
  template <class Load>
  __forceinline__ __device__ void add_lane(const FileProduct& all, const uint8_t* weights,
                                           const float* x, Load load) {
    const FileMatrix& matrix = all.matrix;
    const uint64_t left = all.tokens - first_token;
    const uint64_t row = first_row + team * rows;
    const uint8_t* lines[rows];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      const uint64_t line = row + r < matrix.rows ? row + r : matrix.rows - 1;
      lines[r] = weights + line * matrix.row_bytes;
    }
    const float* const tokens = x + first_token * all.x_stride;
    const auto pieces = static_cast<uint32_t>((matrix.columns + dot_piece - 1) / dot_piece);
#pragma unroll 1
    for (uint32_t piece = lane; piece < pieces; piece += dot_lanes) {
      const uint64_t k = static_cast<uint64_t>(piece) * dot_piece;
      float numbers[rows][dot_piece];
      load(lines, piece, numbers);
#pragma unroll
      for (unsigned w = 0; w < width; ++w) {
        if (width > 1 && w >= left) break;
        float vector[dot_piece];
        load_x(all, tokens + w * all.x_stride + k, matrix.columns - k, vector);
#pragma unroll
        for (unsigned j = 0; j < dot_piece; ++j) {
#pragma unroll
          for (unsigned r = 0; r < rows; ++r) {
            sums[r][w] = __fmaf_rn(numbers[r][j], vector[j], sums[r][w]);
          }
        }
      }
    }
  }

  // The lane's sums go into shared memory.
  __forceinline__ __device__ void keep() const {
    float* const shared = reinterpret_cast<float*>(dynamic_shared());
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
#pragma unroll
      for (unsigned w = 0; w < width; ++w) {
        shared[((team * rows + r) * width + w) * dot_pitch + lane] = sums[r][w];
      }
    }
  }
};

// One piece of all rows of a tile. Functors, because compilers do not inline lambdas that are
// called for every type.
template <unsigned rows>
struct LoadRows {
  const FileMatrix& matrix;
  const uint16_t* grids;

  struct Piece {
    const LoadRows& all;
    const uint8_t* const* lines;
    uint32_t piece;
    float (*numbers)[dot_piece];
    template <class Row>
    __forceinline__ __device__ void operator()(Row) const {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        Row::load(all.matrix, lines[r], all.grids, piece, numbers[r]);
      }
    }
  };
  __forceinline__ __device__ void operator()(const uint8_t* const* lines, uint32_t piece,
                                             float (*numbers)[dot_piece]) const {
    with_rows(matrix.type, Piece{*this, lines, piece, numbers});
  }
};

}  // namespace hiptool_ops
