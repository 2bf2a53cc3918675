// SPDX-License-Identifier: MIT
// Products of one vector with the matrices of model files, in f32, in the order of
// hiptool_file_rows.h: a kernel for each type, so that loads of several pieces are in flight
// together. Rows and the vector consist of whole pieces at aligned places.
#include <hip/hip_runtime.h>

#include "hiptool_stretches_32.h"
#include "hiptool_token_tiles.h"
#include "hiptool_warp_rows.h"

namespace hiptool_ops {

// The token's elements as they are in memory.
struct PlainVector {
  const float* x;
  __forceinline__ __device__ void load(uint32_t piece, float* to) const {
    load_piece<dot_piece>(x + static_cast<uint64_t>(piece) * dot_piece, to);
  }
};

// Adds `pieces` pieces of a lane, from the first on, to the sums of its rows.
template <class Row, unsigned rows, unsigned pieces, class Vector>
__forceinline__ __device__ void add_pieces(const uint8_t* const* lines, const uint16_t* grids,
                                           const Vector& x, uint32_t first, float* sums) {
  RowPiece own[pieces][rows];
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    const uint32_t place = first + p * dot_lanes;
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) Row::load_whole(lines[r], grids, place, own[p][r]);
  }
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    float vector[dot_piece];
    x.load(first + p * dot_lanes, vector);
    const PieceRule rule = rule_of<Row>();
    const float of_x = rule.has_minimum ? sum_of_piece(vector) : 0;
    float added[rows];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) added[r] = begin_piece(rule, sums[r]);
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        added[r] = __fmaf_rn(own[p][r].numbers[j], vector[j], added[r]);
      }
    }
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      sums[r] = end_piece(rule, own[p][r].scale, added[r], of_x, sums[r]);
    }
  }
}

// All pieces of a lane from the first on, up to the end.
template <class Row, unsigned rows, class Vector>
__forceinline__ __device__ void add_run(const uint8_t* const* lines, const uint16_t* grids,
                                        const Vector& x, uint32_t first, uint32_t end,
                                        float* sums) {
  constexpr unsigned pieces = dot_pieces_of_one;
  uint32_t piece = first;
#pragma unroll 1
  for (; piece + (pieces - 1) * dot_lanes < end; piece += pieces * dot_lanes) {
    add_pieces<Row, rows, pieces>(lines, grids, x, piece, sums);
  }
#pragma unroll 1
  for (; piece < end; piece += dot_lanes) {
    add_pieces<Row, rows, 1>(lines, grids, x, piece, sums);
  }
}

// Of pieces: shared memory holds the sums of lanes, the joined ones, and pieces of the token.
constexpr unsigned sums_size = dot_teams * dot_rows_of_one * dot_pitch;
constexpr unsigned joined_size = dot_teams * dot_rows_of_one;
static_assert(sums_size + joined_size == token_sums_floats(), "what the host asks for");

// Adds all pieces of a lane by way of shared memory. `is_first`: of the tiles of a block.
template <class Row, unsigned rows>
__forceinline__ __device__ void add_lines(const uint8_t* const* lines, uint32_t count,
                                          const uint16_t* grids, const float* x,
                                          [[maybe_unused]] const TokenNorm& norm,
                                          [[maybe_unused]] bool is_first, unsigned team,
                                          unsigned lane, float* shared) {
  static_assert(rows == dot_rows_of_one, "the memory of the sums");
  float sums[rows];
#pragma unroll
  for (unsigned r = 0; r < rows; ++r) sums[r] = 0;
  if constexpr (is_staged) {
#pragma unroll 1
    for (uint32_t begin = 0; begin < count; begin += dot_staged) {
      const uint32_t end = count - begin < dot_staged ? count : begin + dot_staged;
      StagedVector<QuartersOfPieces> vector{dynamic_shared() + (sums_size + joined_size) / 4,
                                            staged_pitch(count), begin};
      if (is_first || count > dot_staged) {
        if (begin > 0) __syncthreads();
        vector.stage(x, norm, end);
      }
      add_run<Row, rows>(lines, grids, vector, begin + lane, end, sums);
    }
  } else {
    add_run<Row, rows>(lines, grids, PlainVector{x}, lane, count, sums);
  }
#pragma unroll
  for (unsigned r = 0; r < rows; ++r) shared[(team * rows + r) * dot_pitch + lane] = sums[r];
}

// The norm in front; only where the token is staged the host leaves it to the products.
__forceinline__ __device__ TokenNorm norm_of_token(const float* x, uint64_t width,
                                                   const float* weights, float epsilon) {
  if constexpr (!is_staged) return {nullptr, 1};
  return find_norm(x, width, weights, epsilon, reinterpret_cast<float*>(dynamic_shared()));
}

// Row by row in pieces.
template <class Row>
__forceinline__ __device__ void multiply_pieces(const TokenTiles<dot_teams>& tiles,
                                                const uint16_t* grids, const float* x,
                                                const float* norm_weights) {
  constexpr unsigned rows = dot_rows_of_one;
  const auto count = static_cast<uint32_t>(tiles.all.each[0].matrix.columns / dot_piece);
  float* const shared = reinterpret_cast<float*>(dynamic_shared());
  float* const joined = shared + sums_size;
  if (is_idle()) return;
  hiptool_device::let_next_start();
  if (blockIdx.x < tiles.three) tiles.prefetch(tiles.matrix_of(blockIdx.x));
  hiptool_device::wait_for_inputs();
  const TokenNorm norm =
      norm_of_token(x, tiles.all.each[0].matrix.columns, norm_weights, tiles.all.epsilon);
#pragma unroll 1
  for (uint64_t tile = blockIdx.x; tile < tiles.three; tile += gridDim.x) {
    const auto matrix = tiles.matrix_of(tile);
    const bool is_first = tile == blockIdx.x;
    const uint8_t* lines[rows];
    if constexpr (works_alone) {
      for (unsigned team = 0; team < dot_teams; ++team) {
        tiles.find_lines(matrix, team, lines);
        for (unsigned lane = 0; lane < dot_lanes; ++lane) {
          add_lines<Row, rows>(lines, count, grids, x, norm, is_first, team, lane, shared);
        }
      }
    } else {
      const unsigned team = threadIdx.x / dot_lanes;
      tiles.find_lines(matrix, team, lines);
      add_lines<Row, rows>(lines, count, grids, x, norm, is_first, team, threadIdx.x % dot_lanes,
                           shared);
    }
    wait_for_block();
    if (tiles.is_gated) {
      join_results<joined_size>(shared, [&](unsigned result, float sum) { joined[result] = sum; });
      wait_for_block();
      for (unsigned row = threadIdx.x; row < joined_size / 2; row += result_step) {
        tiles.store_gated(matrix, row, joined + 2 * row);
      }
    } else {
      join_results<joined_size>(shared, matrix);
    }
    if (tile + gridDim.x < tiles.three) wait_for_block();
  }
}

// In stretches: threads of a row join their sums without shared memory, so that threads of other
// rows need not wait for them.
template <class Row>
__forceinline__ __device__ void multiply_stretches(const TokenTiles<stretch_teams, 1>& tiles,
                                                   const float* x, const float* norm_weights) {
  const auto count = static_cast<uint32_t>(tiles.all.each[0].matrix.columns / dot_piece);
  const unsigned team = threadIdx.x / stretch_threads;
  const unsigned own = threadIdx.x % stretch_threads;
  hiptool_device::let_next_start();
  uint64_t tile = blockIdx.x;
  auto matrix = tiles.matrix_of(tile);
  tiles.prefetch(matrix);
  StretchReader<Row> reader{
      tiles.line_of(matrix, team), (count + stretch_pieces - 1) / stretch_pieces, count, {}};
  NormScales<> scales;
  scales.load(norm_weights, count);
  hiptool_device::wait_for_inputs();
  reader.load(own);
  uint4* const units = dynamic_shared();
  uint4* const sums = units + stretch_units * stretch_pitch;
  StagedVector<Stretch<Row>, Row::has_minimum> vector{
      units, stretch_pitch, 0, reinterpret_cast<float*>(sums),
      reinterpret_cast<uint32_t*>(sums + dot_staged / 4)};
  const TokenNorm norm = stage_first(vector, x, count, norm_weights, tiles.all.epsilon, scales);
#pragma unroll 1
  while (tile < tiles.three) {
    const uint64_t next_tile = tile + gridDim.x;
    const auto turn = [&] {
      if (next_tile >= tiles.three) return false;
      reader.line = tiles.line_of(tiles.matrix_of(next_tile), team);
      return true;
    };
    float sums[stretch_pieces] = {};
#pragma unroll 1
    for (uint32_t begin = 0; begin < count; begin += dot_staged) {
      const uint32_t end = count - begin < dot_staged ? count : begin + dot_staged;
      if (count > dot_staged && (tile != blockIdx.x || begin > 0)) {
        __syncthreads();
        vector.begin = begin;
        vector.stage(x, norm, end);
      }
      add_stretches(reader, vector, begin / stretch_pieces,
                    (end + stretch_pieces - 1) / stretch_pieces, own, turn, sums);
    }
    const float joined = join_stretches<Row>(sums);
    if (tiles.is_gated) {
      const float both[2] = {joined, __shfl_xor(joined, stretch_threads)};
      if (own == 0 && team % 2 == 0) tiles.store_gated(matrix, team / 2, both);
    } else if (own == 0) {
      matrix(team, joined);
    }
    tile = next_tile;
    matrix = tiles.matrix_of(tile);
  }
}

// In rows of 32 threads.
template <class Row, unsigned rows>
__forceinline__ __device__ void multiply_warp_rows(const TokenTiles<warp_teams, rows>& tiles,
                                                   const float* x, const float* norm_weights) {
  const auto count = static_cast<uint32_t>(tiles.all.each[0].matrix.columns / dot_piece);
  const unsigned team = threadIdx.x / warp_threads;
  const unsigned own = threadIdx.x % warp_threads;
  hiptool_device::let_next_start();
  const uint8_t* lines[rows];
  uint64_t tile = blockIdx.x;
  auto matrix = tiles.matrix_of(tile);
  tiles.prefetch(matrix);
  tiles.find_lines(matrix, team, lines);
  NormScales<> scales;
  scales.load(norm_weights, count);
  hiptool_device::wait_for_inputs();
  LanePieces<typename WarpRow<Row>::Stored, rows> ahead;
  ahead.load(lines, 0, own, count);
  StagedVector<QuartersOfPieces> vector{dynamic_shared(), staged_pitch(count), 0};
  const TokenNorm norm = stage_first(vector, x, count, norm_weights, tiles.all.epsilon, scales);
#pragma unroll 1
  while (tile < tiles.three) {
    const uint64_t next_tile = tile + gridDim.x;
    float sums[rows][warp_lanes] = {};
#pragma unroll 1
    for (uint32_t begin = 0; begin < count; begin += dot_staged) {
      const uint32_t end = count - begin < dot_staged ? count : begin + dot_staged;
      if (count > dot_staged && (tile != blockIdx.x || begin > 0)) {
        __syncthreads();
        vector.begin = begin;
        vector.stage(x, norm, end);
      }
#pragma unroll 1
      for (uint32_t group = begin; group < end; group += ahead.step) {
        uint32_t next = group + ahead.step;
        if (next >= count) {
          // Nothing follows the last tile.
          next = next_tile < tiles.three ? 0 : count;
          if (next == 0) tiles.find_lines(tiles.matrix_of(next_tile), team, lines);
        }
        ahead.add(vector, group, end, own, lines, next, count, sums);
      }
    }
    float joined[rows];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) joined[r] = join_warp(sums[r]);
    if (own == 0) {
      if (tiles.is_gated) {
        tiles.store_gated(matrix, team, joined);
      } else {
#pragma unroll
        for (unsigned r = 0; r < rows; ++r) matrix(team * rows + r, joined[r]);
      }
    }
    tile = next_tile;
    matrix = tiles.matrix_of(tile);
  }
}

template <class Row>
__forceinline__ __device__ void multiply_one(const TokenProducts& all,
                                             const uint8_t* const* weights, const uint16_t* grids,
                                             const float* x, const float* norm, const float* added,
                                             float* const* outs) {
  if constexpr (is_staged && Stretch<Row>::is_known) {
    multiply_stretches<Row>({all, weights, added, outs}, x, norm);
  } else if constexpr (is_staged && WarpRow<Row>::is_known) {
    if (all.team_rows == 1) {
      multiply_warp_rows<Row, 1>({all, weights, added, outs}, x, norm);
    } else {
      multiply_warp_rows<Row, dot_rows_of_one>({all, weights, added, outs}, x, norm);
    }
  } else {
    multiply_pieces<Row>({all, weights, added, outs}, grids, x, norm);
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(type, number, ...)                                                 \
  extern "C" __global__ void __launch_bounds__(256, hiptool_ops::token_blocks(number))    \
      hiptool_quantised_matmul_1_##type(                                                  \
          hiptool_ops::TokenProducts all, const uint8_t* first, const uint8_t* second,    \
          const uint8_t* third, const uint16_t* grids, const float* x, const float* norm, \
          const float* added, float* first_out, float* second_out, float* third_out) {    \
    const uint8_t* const weights[] = {first, second, third};                              \
    float* const outs[] = {first_out, second_out, third_out};                             \
    hiptool_ops::multiply_one<__VA_ARGS__>(all, weights, grids, x, norm, added, outs);    \
  }                                                                                       \
  HIPTOOL_EXPORT(hiptool_quantised_matmul_1_##type)
#define HIPTOOL_PLAIN_KERNEL(type, ...)                                     \
  HIPTOOL_KERNEL(type, static_cast<uint32_t>(hiptool_ops::PlainType::type), \
                 hiptool_ops::PlainRow<__VA_ARGS__>)

HIPTOOL_PLAIN_KERNEL(f32, float);
HIPTOOL_PLAIN_KERNEL(f16, hiptool_ops::F16);
HIPTOOL_PLAIN_KERNEL(bf16, hiptool_ops::Bf16);
HIPTOOL_PLAIN_KERNEL(f64, double);
#define HIPTOOL_QUANTISED(name, text, number, ...)                                               \
  HIPTOOL_KERNEL(name, number, hiptool_ops::BlockRow<hiptool_blocks::name>);                     \
  static_assert(hiptool_ops::has_stretches(number) ==                                            \
                    hiptool_ops::Stretch<hiptool_ops::BlockRow<hiptool_blocks::name>>::is_known, \
                "the host launches as many blocks as there are tiles");
#include "hiptool_quantised.def"
#if !defined(__AMDGCN__)
#define HIPTOOL_APART_KERNEL(name)                                        \
  HIPTOOL_KERNEL(apart_##name, hiptool_blocks::name + hiptool_ops::apart, \
                 hiptool_ops::BlockRow<hiptool_blocks::name, true>)
HIPTOOL_APART_KERNEL(q4_0);
HIPTOOL_APART_KERNEL(q4_1);
HIPTOOL_APART_KERNEL(q5_0);
HIPTOOL_APART_KERNEL(q5_1);
HIPTOOL_APART_KERNEL(q8_0);
HIPTOOL_APART_KERNEL(iq4_nl);
HIPTOOL_APART_KERNEL(mxfp4);
HIPTOOL_APART_KERNEL(nvfp4);
#endif
