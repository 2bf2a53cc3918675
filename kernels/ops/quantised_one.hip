// SPDX-License-Identifier: MIT
// Products of one vector with the matrices of model files, in f32, in the order of
// hiptool_file_rows.h: a kernel for each type, so that loads of several pieces are in flight
// together. Rows and the vector consist of whole pieces at aligned places.
#include <hip/hip_runtime.h>

#include "hiptool_early.h"
#include "hiptool_math_erf.h"
#include "hiptool_stretches_32.h"
#include "hiptool_token_norm.h"

namespace hiptool_ops {

// NVIDIA's kernels stage the token in shared memory and read some types in stretches. Tests compile
// this source for the processor as if it were for them.
#if defined(__CUDA_ARCH__) || defined(HIPTOOL_AS_NVIDIA)
enum : bool { is_staged = true };
#else
enum : bool { is_staged = false };
#endif

// The token's elements as they are in memory.
struct PlainVector {
  const float* x;
  __forceinline__ __device__ void load(uint32_t piece, float* to) const {
    load_piece<dot_piece>(x + static_cast<uint64_t>(piece) * dot_piece, to);
  }
};

// Neighbouring threads find their quarters of a piece next to each other in shared memory: in
// memory these are 64 bytes apart, which takes four times as long.
struct QuartersOfPieces {
  static constexpr __device__ uint32_t place(uint32_t i, uint32_t pitch) {
    return i % 4 * pitch + i / 4;
  }
};

// A run of its pieces in shared memory, whose units of four elements are where `Layout` says.
template <class Layout>
struct StagedVector {
  uint4* units;
  uint32_t pitch;
  uint32_t begin;

  // By QuartersOfPieces.
  __forceinline__ __device__ void load(uint32_t piece, float* to) const {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      move_bytes<16>(to + 4 * k, units + k * pitch + (piece - begin));
    }
  }
  // By layouts of stretches: the first unit of one, from which the others are `pitch` apart.
  const __forceinline__ __device__ uint4* units_of(uint32_t stretch) const {
    return units + (stretch - begin / stretch_pieces);
  }
  __forceinline__ __device__ void stage(const float* x, uint32_t end) const {
    const auto* const from = reinterpret_cast<const uint4*>(x) + static_cast<uint64_t>(begin) * 4;
    for (uint32_t i = threadIdx.x; i < (end - begin) * 4; i += layer_threads) {
      units[Layout::place(i, pitch)] = from[i];
    }
  }
  __forceinline__ __device__ void stage(const float* x, const TokenNorm& norm, uint32_t end) const {
    if (norm.weights != nullptr) {
      stage_normed(x, norm, end);
    } else {
      stage(x, end);
    }
  }
  __forceinline__ __device__ void stage_normed(const float* x, const TokenNorm& norm,
                                               uint32_t end) const {
    const float* const own = x + static_cast<uint64_t>(begin) * dot_piece;
    const float* const own_weights = norm.weights + static_cast<uint64_t>(begin) * dot_piece;
    const uint32_t count = (end - begin) * 4;
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < count; first += norm_turns * layer_threads) {
      float runs[norm_turns][4];
      float weights[norm_turns][4];
#pragma unroll
      for (unsigned turn = 0; turn < norm_turns; ++turn) {
        const uint32_t i = first + turn * layer_threads;
        if (i >= count) break;
        load_piece<4>(own + i * 4, runs[turn]);
        load_piece<4>(own_weights + i * 4, weights[turn]);
      }
#pragma unroll
      for (unsigned turn = 0; turn < norm_turns; ++turn) {
        const uint32_t i = first + turn * layer_threads;
        if (i >= count) break;
        norm.apply(weights[turn], runs[turn]);
        move_bytes<16>(units + Layout::place(i, pitch), runs[turn]);
      }
    }
  }
};

// Adds `pieces` pieces of a lane, from the first on, to the sums of its rows.
template <class Row, unsigned rows, unsigned pieces, class Vector>
__forceinline__ __device__ void add_pieces(const uint8_t* const* lines, const uint16_t* grids,
                                           const Vector& x, uint32_t first, float* sums) {
  float numbers[pieces][rows][dot_piece];
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    const uint32_t place = first + p * dot_lanes;
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) Row::load_whole(lines[r], grids, place, numbers[p][r]);
  }
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    float vector[dot_piece];
    x.load(first + p * dot_lanes, vector);
#pragma unroll
    for (unsigned j = 0; j < dot_piece; ++j) {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        sums[r] = __fmaf_rn(numbers[p][r][j], vector[j], sums[r]);
      }
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

// One of several matrices, and the tile of its rows.
template <unsigned tile_rows>
struct OneMatrix {
  uint64_t rows;
  uint64_t row_bytes;
  uint64_t out_step;
  uint64_t tile;
  const uint8_t* weights;
  const float* added;  // null: nothing
  float* out;

  __device__ OneMatrix(const FileProduct& product, uint64_t of_tile, const uint8_t* from,
                       const float* also, float* to)
      : rows(product.matrix.rows),
        row_bytes(product.matrix.row_bytes),
        out_step(product.out_step),
        tile(of_tile),
        weights(from),
        added(also),
        out(to) {}

  // Stores what the lanes have joined.
  __forceinline__ __device__ void operator()(unsigned result, float sum) const {
    const uint64_t row = tile * tile_rows + result;
    if (row >= rows) return;
    const float product = canonical(sum);
    out[row * out_step] = added == nullptr ? product : canonical(added[row * out_step] + product);
  }
};

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
      const StagedVector<QuartersOfPieces> vector{dynamic_shared() + (sums_size + joined_size) / 4,
                                                  staged_pitch(count), begin};
      if (is_first || count > dot_staged) {
        if (begin > 0) __syncthreads();
        vector.stage(x, norm, end);
        __syncthreads();
      }
      add_run<Row, rows>(lines, grids, vector, begin + lane, end, sums);
    }
  } else {
    add_run<Row, rows>(lines, grids, PlainVector{x}, lane, count, sums);
  }
#pragma unroll
  for (unsigned r = 0; r < rows; ++r) shared[(team * rows + r) * dot_pitch + lane] = sums[r];
}

// The tiles of all matrices, one after the other; of a gate, tiles of half as many rows of both.
// Each team of a block takes `rows` rows of a tile.
template <unsigned teams, unsigned rows_ = dot_rows_of_one>
struct TokenTiles {
  enum : unsigned { rows = rows_, tile_rows = teams * rows_, gated_tile_rows = tile_rows / 2 };
  using Matrix = OneMatrix<tile_rows>;
  const TokenProducts& all;
  const uint8_t* const* weights;
  const float* added;  // to the first product; null: nothing
  float* const* outs;
  bool is_gated;
  uint64_t one;
  uint64_t two;
  uint64_t three;

  __device__ TokenTiles(const TokenProducts& products, const uint8_t* const* from,
                        const float* also, float* const* to)
      : all(products), weights(from), added(also), outs(to) {
    is_gated = all.gate != ProductGate::none;
    one = tiles_of(all.each[0], is_gated ? gated_tile_rows : tile_rows);
    two = one + (!is_gated && all.count > 1 ? tiles_of(all.each[1], tile_rows) : 0);
    three = two + (all.count > 2 ? tiles_of(all.each[2], tile_rows) : 0);
  }

  static __device__ uint64_t tiles_of(const FileProduct& product, unsigned of_tile) {
    return (product.matrix.rows + of_tile - 1) / of_tile;
  }

  __forceinline__ __device__ Matrix matrix_of(uint64_t tile) const {
    if (tile < one) return Matrix(all.each[0], tile, weights[0], added, outs[0]);
    if (tile < two) return Matrix(all.each[1], tile - one, weights[1], nullptr, outs[1]);
    return Matrix(all.each[2], tile - two, weights[2], nullptr, outs[2]);
  }

  __forceinline__ __device__ void find_lines(const Matrix& matrix, unsigned team,
                                             const uint8_t** lines) const {
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      lines[r] = line_of(matrix, team * rows + r);
    }
  }
  // That row of a tile; behind the last one of the matrix the last one.
  const __forceinline__ __device__ uint8_t* line_of(const Matrix& matrix, unsigned place) const {
    const uint64_t own =
        is_gated ? matrix.tile * gated_tile_rows + place / 2 : matrix.tile * tile_rows + place;
    const uint8_t* const from = is_gated && place % 2 == 1 ? weights[1] : matrix.weights;
    return from + (own < matrix.rows ? own : matrix.rows - 1) * matrix.row_bytes;
  }

  // Of a block's first tile the rows' beginnings, which no kernel in front writes: they come from
  // memory while that kernel ends. All blocks together ask for less than half of the cache.
  __forceinline__ __device__ void prefetch_first() const {
    constexpr uint64_t most_bytes = 32768 / tile_rows;
    if (blockIdx.x >= three || threadIdx.x >= tile_rows) return;
    const Matrix matrix = matrix_of(blockIdx.x);
    hiptool_device::prefetch_bytes(line_of(matrix, threadIdx.x),
                                   matrix.row_bytes < most_bytes ? matrix.row_bytes : most_bytes);
  }

  // Of a gate: row `result` of the tile, from the joined sums of both matrices.
  __forceinline__ __device__ void store_gated(const Matrix& matrix, unsigned result,
                                              const float* joined) const {
    const uint64_t row = matrix.tile * gated_tile_rows + result;
    if (row >= matrix.rows) return;
    const float gate = canonical(joined[0]);
    const float opened =
        all.gate == ProductGate::silu ? hiptool_math::silu(gate) : hiptool_math::gelu_tanh(gate);
    matrix.out[row * matrix.out_step] = canonical(opened * canonical(joined[1]));
  }
};

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
  tiles.prefetch_first();
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
template <class Row, unsigned rows>
__forceinline__ __device__ void multiply_stretches(const TokenTiles<stretch_teams, rows>& tiles,
                                                   const float* x, const float* norm_weights) {
  const auto count = static_cast<uint32_t>(tiles.all.each[0].matrix.columns / dot_piece);
  hiptool_device::wait_for_inputs();
  const TokenNorm norm =
      norm_of_token(x, tiles.all.each[0].matrix.columns, norm_weights, tiles.all.epsilon);
  const unsigned team = threadIdx.x / stretch_threads;
  const unsigned own = threadIdx.x % stretch_threads;
#pragma unroll 1
  for (uint64_t tile = blockIdx.x; tile < tiles.three; tile += gridDim.x) {
    const auto matrix = tiles.matrix_of(tile);
    const uint8_t* lines[rows];
    tiles.find_lines(matrix, team, lines);
    float sums[rows][stretch_pieces] = {};
#pragma unroll 1
    for (uint32_t begin = 0; begin < count; begin += dot_staged) {
      const uint32_t end = count - begin < dot_staged ? count : begin + dot_staged;
      const StagedVector<Stretch<Row>> vector{dynamic_shared(), stretch_pitch, begin};
      if (tile == blockIdx.x || count > dot_staged) {
        if (tile != blockIdx.x || begin > 0) __syncthreads();
        vector.stage(x, norm, end);
        __syncthreads();
      }
      add_stretches<Row, rows>(lines, vector, begin / stretch_pieces, own, end, sums);
    }
    float joined[rows];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) joined[r] = join_stretches<Row>(sums[r]);
    if (tiles.is_gated) {
      // The partner of a gate's row is this team's second row, or the next team's.
      const float beside = rows > 1 ? joined[rows - 1] : __shfl_xor(joined[0], stretch_threads);
      const float both[2] = {joined[0], beside};
      if (own == 0 && team * rows % 2 == 0) tiles.store_gated(matrix, team * rows / 2, both);
    } else if (own == 0) {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) matrix(team * rows + r, joined[r]);
    }
  }
}

template <class Row>
__forceinline__ __device__ void multiply_one(const TokenProducts& all,
                                             const uint8_t* const* weights, const uint16_t* grids,
                                             const float* x, const float* norm, const float* added,
                                             float* const* outs) {
  if constexpr (is_staged && Stretch<Row>::is_known) {
    if (all.team_rows == 1) {
      multiply_stretches<Row, 1>({all, weights, added, outs}, x, norm);
    } else {
      multiply_stretches<Row, dot_rows_of_one>({all, weights, added, outs}, x, norm);
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
#define HIPTOOL_QUANTISED(name, text, number, values, bytes, ...)                             \
  HIPTOOL_KERNEL(name, number,                                                                \
                 hiptool_ops::BlockRow<values, bytes, hiptool_blocks::name##_values>);        \
  static_assert(                                                                              \
      hiptool_ops::has_stretches(number) ==                                                   \
          hiptool_ops::Stretch<                                                               \
              hiptool_ops::BlockRow<values, bytes, hiptool_blocks::name##_values>>::is_known, \
      "the host launches as many blocks as there are tiles");
#include "hiptool_quantised.def"
#if !defined(__AMDGCN__)
#define HIPTOOL_APART_KERNEL(name, values, bytes)                         \
  HIPTOOL_KERNEL(apart_##name, hiptool_blocks::name + hiptool_ops::apart, \
                 hiptool_ops::BlockRow<values, bytes, hiptool_blocks::name##_values, true>)
HIPTOOL_APART_KERNEL(q4_0, 32, 18);
HIPTOOL_APART_KERNEL(q4_1, 32, 20);
HIPTOOL_APART_KERNEL(q5_0, 32, 22);
HIPTOOL_APART_KERNEL(q5_1, 32, 24);
HIPTOOL_APART_KERNEL(q8_0, 32, 34);
HIPTOOL_APART_KERNEL(iq4_nl, 32, 18);
HIPTOOL_APART_KERNEL(mxfp4, 32, 17);
HIPTOOL_APART_KERNEL(nvfp4, 64, 36);
#endif
