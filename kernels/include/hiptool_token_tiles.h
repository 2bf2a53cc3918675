// SPDX-License-Identifier: MIT
// What all kernels for products of one token share: the token in shared memory, and the tiles of
// rows that blocks take.
#pragma once
#include "hiptool_early.h"
#include "hiptool_file_rows.h"
#include "hiptool_math_erf.h"
#include "hiptool_placed.h"
#include "hiptool_token_norm.h"

namespace hiptool_ops {

// NVIDIA's kernels stage the token in shared memory. Tests compile their sources for the processor
// as if they were for them.
#if defined(__CUDA_ARCH__) || defined(HIPTOOL_AS_NVIDIA)
enum : bool { is_staged = true };
#else
enum : bool { is_staged = false };
#endif

// Neighbouring threads find their quarters of a piece next to each other in shared memory: in
// memory these are 64 bytes apart, which takes four times as long.
struct QuartersOfPieces : NotPlaced {
  static constexpr __device__ uint32_t place(uint32_t i, uint32_t pitch) {
    return i % 4 * pitch + i / 4;
  }
};

// Whether a thread of the block says so; all of them meet here. `groups` is shared memory for a
// word of each group of 32.
inline __device__ bool any_of_block(bool own, [[maybe_unused]] uint32_t* groups) {
#if defined(__CUDA__) || defined(__CUDACC__)
  uint32_t any;
  asm volatile(
      "{ .reg .pred own, any; setp.ne.u32 own, %1, 0; bar.red.or.pred any, 0, own;"
      " selp.u32 %0, 1, 0, any; }"
      : "=r"(any)
      : "r"(own ? 1U : 0U)
      : "memory");
  return any != 0;
#else
  return hiptool_device::join_block<hiptool_device::Or, 0>(own ? 1U : 0U, groups) != 0;
#endif
}

// A run of its pieces in shared memory, whose units of four elements are where `Layout` says, and
// their sums, if the order of products has them. `threads`: of a block; 0: as many as it has.
template <class Layout, bool has_sums = false, unsigned threads = layer_threads>
struct StagedVector {
  uint4* units;
  uint32_t pitch;
  uint32_t begin;
  float* sums = nullptr;
  uint32_t* groups = nullptr;  // see any_of_block
  bool is_placed = Layout::has_places;

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
  const __forceinline__ __device__ float* sums_of(uint32_t stretch) const {
    return sums + (stretch * stretch_pieces - begin);
  }

  // Stages unit `i`, if it is there; all threads of a warp call it. Returns whether it is in place.
  __forceinline__ __device__ bool put(uint32_t i, bool is_there, const float* unit) const {
    float four[4] = {unit[0], unit[1], unit[2], unit[3]};
    if constexpr (has_sums) {
      float sum[1] = {is_there ? sum_of_four(four) : 0};
      hiptool_device::add_across<2, 1>(sum);
      if (is_there && i % 4 == 0) sums[Layout::sum_place(i / 4)] = sum[0];
    }
    bool is_right = true;
    if constexpr (Layout::has_places) {
      if (is_there && is_placed) is_right = Layout::put(i, four);
    }
    if (is_there) move_bytes<16>(units + Layout::place(i, pitch), four);
    return is_right;
  }
  // All threads call it when they have put what is theirs; then all may read it. False: some of it
  // could not be placed, so that all of it is put once more as it is.
  __forceinline__ __device__ bool ends(bool are_right) {
    if constexpr (Layout::has_places) {
      if (!any_of_block(!are_right, groups)) return true;
      is_placed = false;
      return false;
    } else {
      __syncthreads();
      return are_right;
    }
  }
  __forceinline__ __device__ bool put_all(const float* x, const TokenNorm& norm,
                                          uint32_t end) const {
    const float* const own = x + static_cast<uint64_t>(begin) * dot_piece;
    const float* const own_weights = norm.weights + static_cast<uint64_t>(begin) * dot_piece;
    const uint32_t count = (end - begin) * 4;
    const uint32_t step = threads != 0 ? threads : blockDim.x;
    bool are_right = true;
#pragma unroll 1
    for (uint32_t first = 0; first < count; first += norm_turns * step) {
      float runs[norm_turns][4] = {};
      float weights[norm_turns][4];
#pragma unroll
      for (unsigned turn = 0; turn < norm_turns; ++turn) {
        const uint32_t i = first + turn * step + threadIdx.x;
        if (i >= count) break;
        load_piece<4>(own + i * 4, runs[turn]);
        if (norm.weights != nullptr) load_piece<4>(own_weights + i * 4, weights[turn]);
      }
#pragma unroll
      for (unsigned turn = 0; turn < norm_turns; ++turn) {
        if (first + turn * step >= count) break;
        const uint32_t i = first + turn * step + threadIdx.x;
        if (i < count && norm.weights != nullptr) norm.apply(weights[turn], runs[turn]);
        are_right = put(i, i < count, runs[turn]) && are_right;
      }
    }
    return are_right;
  }

  __forceinline__ __device__ void stage(const float* x, const TokenNorm& norm, uint32_t end) {
    is_placed = Layout::has_places;
#pragma unroll 1
    while (!ends(put_all(x, norm, end))) {
    }
  }
};

// The weights of the norm of a token of few elements, as far as a thread stages it. No kernel
// writes them: they can be loaded while the kernel in front ends.
template <unsigned threads = layer_threads>
struct NormScales {
  enum : unsigned { turns = norm_turns * row_threads / threads };
  float own[turns][4];

  static __forceinline__ __device__ bool suit(const float* weights, uint32_t pieces) {
    const uint64_t width = static_cast<uint64_t>(pieces) * dot_piece;
    return weights != nullptr && width > short_row && width <= norm_turns * row_threads * 4 &&
           (threads == layer_threads || blockDim.x == threads);
  }
  __forceinline__ __device__ void load(const float* weights, uint32_t pieces) {
    if (!suit(weights, pieces)) return;
#pragma unroll
    for (unsigned turn = 0; turn < turns; ++turn) {
      const uint32_t i = threadIdx.x + turn * threads;
      if (i >= pieces * 4) break;
      read_unit(hiptool_device::read_settled_unit(weights + i * 4), own[turn]);
    }
  }
};

// Stages the first part of the token, of `most` pieces, and returns its norm. The norm of a token
// of few elements is found from what is staged: the blocks of a launch wait for memory most.
template <class Vector, unsigned threads>
__forceinline__ __device__ TokenNorm stage_first(Vector& vector, const float* x, uint32_t count,
                                                 const float* weights, float epsilon,
                                                 const NormScales<threads>& scales,
                                                 uint32_t most = dot_staged) {
  const uint64_t width = static_cast<uint64_t>(count) * dot_piece;
  auto* const shared = reinterpret_cast<float*>(dynamic_shared());
  if (!NormScales<threads>::suit(weights, count)) {
    const TokenNorm norm = find_norm(x, width, weights, epsilon, shared);
    vector.stage(x, norm, count < most ? count : most);
    return norm;
  }
  // The sum has the order of row_threads: if there are more, each group of as many has all of it.
  constexpr unsigned groups = threads / row_threads;
  const uint32_t place = groups == 1 ? threadIdx.x : threadIdx.x % row_threads;
  float all[norm_turns][4] = {};
#pragma unroll
  for (unsigned turn = 0; turn < norm_turns; ++turn) {
    const uint32_t i = place + turn * row_threads;
    if (i >= count * 4) break;
    load_piece<4>(x + i * 4, all[turn]);
  }
  float sum = 0;
#pragma unroll
  for (unsigned turn = 0; turn < norm_turns; ++turn) {
    if (place + turn * row_threads >= count * 4) break;
    sum = add_squares(sum, all[turn]);
  }
  const TokenNorm norm = norm_of_sum(sum, width, weights, epsilon, shared);
  constexpr unsigned turns = NormScales<threads>::turns;
  float runs[turns][4];
#pragma unroll
  for (unsigned turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      const bool is_second = threadIdx.x >= row_threads;
      runs[turn][k] = all[turn * groups][k];
      if (groups == 2 && is_second) runs[turn][k] = all[turn * groups + groups - 1][k];
    }
    if (turn * threads + threadIdx.x < count * 4) norm.apply(scales.own[turn], runs[turn]);
  }
  bool are_right = true;
#pragma unroll 1
  do {
    are_right = true;
#pragma unroll
    for (unsigned turn = 0; turn < turns; ++turn) {
      if (turn * threads >= count * 4) break;
      const uint32_t i = turn * threads + threadIdx.x;
      are_right = vector.put(i, i < count * 4, runs[turn]) && are_right;
    }
  } while (!vector.ends(are_right));
  return norm;
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
    const float product = product_of(sum);
    out[row * out_step] = added == nullptr ? product : canonical(added[row * out_step] + product);
  }
};

// The tiles of all matrices, one after the other; of a gate, tiles of half as many rows of both.
// Each team of a block takes `rows` rows of a tile.
template <unsigned teams, unsigned rows_ = dot_rows_of_one>
struct TokenTiles {
  enum : unsigned { rows = rows_, tile_rows = teams * rows_, gated_tile_rows = tile_rows / 2 };
  using Matrix = OneMatrix<tile_rows>;
  // Not as arrays, which compilers would keep in memory.
  const TokenProducts& all;
  const uint8_t* first;
  const uint8_t* second;
  const uint8_t* third;
  const float* added;  // to the first product; null: nothing
  float* first_out;
  float* second_out;
  float* third_out;
  bool is_gated;
  uint64_t one;
  uint64_t two;
  uint64_t three;

  __device__ TokenTiles(const TokenProducts& products, const uint8_t* const* from,
                        const float* also, float* const* to)
      : all(products),
        first(from[0]),
        second(from[1]),
        third(from[2]),
        added(also),
        first_out(to[0]),
        second_out(to[1]),
        third_out(to[2]) {
    is_gated = all.gate != ProductGate::none;
    one = tiles_of(all.each[0], is_gated ? gated_tile_rows : tile_rows);
    two = one + (!is_gated && all.count > 1 ? tiles_of(all.each[1], tile_rows) : 0);
    three = two + (all.count > 2 ? tiles_of(all.each[2], tile_rows) : 0);
  }

  static __device__ uint64_t tiles_of(const FileProduct& product, unsigned of_tile) {
    return (product.matrix.rows + of_tile - 1) / of_tile;
  }

  __forceinline__ __device__ Matrix matrix_of(uint64_t tile) const {
    const uint8_t* const from[] = {first, second, third};
    float* const to[] = {first_out, second_out, third_out};
    const float* const also = added;
    if (tile < one) return Matrix(all.each[0], tile, from[0], also, to[0]);
    if (tile < two) return Matrix(all.each[1], tile - one, from[1], nullptr, to[1]);
    return Matrix(all.each[2], tile - two, from[2], nullptr, to[2]);
  }

  __forceinline__ __device__ void find_lines(const Matrix& matrix, unsigned team,
                                             const uint8_t** lines) const {
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      lines[r] = line_of(matrix, team * rows + r);
    }
  }
  // That row of a tile; past the end of the matrix its last one.
  const __forceinline__ __device__ uint8_t* line_of(const Matrix& matrix, unsigned place) const {
    const uint64_t own =
        is_gated ? matrix.tile * gated_tile_rows + place / 2 : matrix.tile * tile_rows + place;
    const uint8_t* const partner = second;
    const uint8_t* const from = is_gated && place % 2 == 1 ? partner : matrix.weights;
    return from + (own < matrix.rows ? own : matrix.rows - 1) * matrix.row_bytes;
  }

  // Of a block's first tile the rows' beginnings, which no kernel in front writes: they come from
  // memory while that kernel ends. All blocks together ask for less than half of the cache.
  __forceinline__ __device__ void prefetch(const Matrix& matrix) const {
    constexpr uint64_t most_bytes = 32768 / tile_rows;
    if (threadIdx.x >= tile_rows) return;
    hiptool_device::prefetch_bytes(line_of(matrix, threadIdx.x),
                                   matrix.row_bytes < most_bytes ? matrix.row_bytes : most_bytes);
  }

  // Of a gate: row `result` of the tile, from the joined sums of both matrices.
  __forceinline__ __device__ void store_gated(const Matrix& matrix, unsigned result,
                                              const float* joined) const {
    const uint64_t row = matrix.tile * gated_tile_rows + result;
    if (row >= matrix.rows) return;
    const float gate = product_of(joined[0]);
    const float opened =
        all.gate == ProductGate::silu ? hiptool_math::silu(gate) : hiptool_math::gelu_tanh(gate);
    matrix.out[row * matrix.out_step] = canonical(opened * product_of(joined[1]));
  }
};

}  // namespace hiptool_ops
