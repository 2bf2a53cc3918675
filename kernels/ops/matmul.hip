// SPDX-License-Identifier: MIT
// Products of matrices without matrix instructions, in tiles. Every sum is joined by fused
// multiply-add in the order of k, from 0 on, whatever the tile and the layout are.
#include "hiptool_products.h"

using namespace hiptool_device;

namespace hiptool_ops {

// Four neighbouring numbers of shared memory.
inline __device__ void read_four(const uint4* from, float* to) { read_unit(from[0], to); }
inline __device__ void read_four(const uint4* from, double* to) {
  const uint4 low = from[0];
  const uint4 high = from[1];
  to[0] = double_of(low.x, low.y);
  to[1] = double_of(low.z, low.w);
  to[2] = double_of(high.x, high.y);
  to[3] = double_of(high.z, high.w);
}

inline __device__ uint32_t low_word(double value) {
  return static_cast<uint32_t>(Double::bits_of(value));
}
inline __device__ uint32_t high_word(double value) {
  return static_cast<uint32_t>(Double::bits_of(value) >> 32);
}
inline __device__ void write_four(uint4* to, const float* from) { to[0] = make_unit(from); }
inline __device__ void write_four(uint4* to, const double* from) {
  to[0] = make_unit(low_word(from[0]), high_word(from[0]), low_word(from[1]), high_word(from[1]));
  to[1] = make_unit(low_word(from[2]), high_word(from[2]), low_word(from[3]), high_word(from[3]));
}

// A thread's share of one operand, between memory and shared memory. Where the tile or k end inside
// a piece, elements beyond the tile repeat the last row or column, and those beyond k are `filler`.
template <class Stored, class Tile>
struct Loader {
  using Number = typename Element<Stored>::Value;
  enum : unsigned { units = sizeof(Number) / 4, row_units = Tile::row * sizeof(Number) / 16 };
  const MatmulFactor& factor;
  const Stored* from;  // the thread's share of the next piece
  unsigned last;       // place in the piece after which its own axis ends
  unsigned k_first;    // from which k counts
  unsigned place;      // in the tile, along its own axis
  Stored piece[matmul_piece];

  __device__ Loader(const MatmulFactor& of, const Stored* data, uint64_t first_of_tile,
                    uint64_t begin)
      : factor(of) {
    constexpr unsigned length = matmul_piece;
    constexpr unsigned pieces = Tile::depth / length;
    constexpr unsigned columns = Tile::tile / length;
    const unsigned thread = threadIdx.x;
    k_first = factor.is_across ? thread % pieces * length : thread / columns;
    place = factor.is_across ? thread / pieces : thread % columns * length;
    // The whole piece is inside: sizes are multiples of it where pieces are loaded.
    const uint64_t most = factor.size - (factor.is_across || !factor.has_pieces ? 1 : length);
    const uint64_t own = first_of_tile + place;
    const uint64_t first = own < most ? own : most;
    last = factor.size - first < length ? static_cast<unsigned>(factor.size - first - 1) : length;
    from = data + first * factor.stride + (begin + k_first) * factor.k_stride;
  }

  // The next piece, which is whole and aligned.
  __device__ void load() {
    load_piece<matmul_piece>(from, piece);
    from += Tile::depth * factor.k_stride;
  }

  // Any next piece, of which `left` elements of k exist.
  __device__ void load(uint64_t left, Stored filler) {
#pragma unroll
    for (unsigned i = 0; i < matmul_piece; ++i) {
      const unsigned along_k = factor.is_across ? i : 0;
      const unsigned beside = i < last ? i : last;
      piece[i] = k_first + along_k < left ? from[factor.is_across ? i : beside] : filler;
    }
    from += Tile::depth * factor.k_stride;
  }

  __device__ void store(uint4 (*to)[row_units]) const {
    Number numbers[matmul_piece];
#pragma unroll
    for (unsigned i = 0; i < matmul_piece; ++i) numbers[i] = factor_of(piece[i]);
    if (!factor.is_across) {
      write_four(&to[k_first][place / 4 * units], numbers);
      return;
    }
#pragma unroll
    for (unsigned i = 0; i < matmul_piece; ++i) {
      // By words, as which all of shared memory is written.
      auto* const words = reinterpret_cast<uint32_t*>(to[k_first + i]);
      if constexpr (units == 1) {
        words[place] = __float_as_uint(numbers[i]);
      } else {
        words[2 * place] = low_word(numbers[i]);
        words[2 * place + 1] = high_word(numbers[i]);
      }
    }
  }
};

// The thread's place among 16 x 16. A warp of 32 takes 4 x 8 of them, and the threads that shared
// memory serves together read as few different units as possible.
struct ThreadPlace {
  unsigned x;
  unsigned y;
  __device__ ThreadPlace() {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    x = warp % 2 * 8 + lane / 2 % 8;
    y = warp / 2 * 4 + lane / 16 * 2 + lane % 2;
  }
};

// LLVM moves the loads of all unrolled steps in front of the first one, and products after later
// branches, where there are too few registers for all the numbers.
inline __device__ void end_step() {
#if defined(__clang__) && defined(__NVPTX__)
  asm volatile("" ::: "memory");
#endif
}
__forceinline__ __device__ void end_piece([[maybe_unused]] float (&sum)[8][8]) {
#if defined(__clang__) && defined(__NVPTX__)
#pragma unroll
  for (unsigned i = 0; i < 8; ++i) {
    asm volatile(""
                 : "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]), "+f"(sum[i][3]),
                   "+f"(sum[i][4]), "+f"(sum[i][5]), "+f"(sum[i][6]), "+f"(sum[i][7]));
  }
#endif
}

// Adds the products of one piece of both operands in shared memory, `at_once` steps unrolled.
template <class Tile, unsigned at_once, unsigned row_units, class Number>
__forceinline__ __device__ void multiply_piece(const uint4 (*of_a)[row_units],
                                               const uint4 (*of_b)[row_units],
                                               const ThreadPlace& at,
                                               Number (&sum)[Tile::side][Tile::side]) {
  constexpr unsigned side = Tile::side;
  constexpr unsigned units = sizeof(Number) / 4;
#pragma unroll at_once
  for (unsigned d = 0; d < Tile::depth; ++d) {
    Number of_row[side];
    Number of_column[side];
#pragma unroll
    for (unsigned i = 0; i < side; i += 4) {
      read_four(&of_a[d][(at.y + i * 4) * units], of_row + i);
      read_four(&of_b[d][(at.x + i * 4) * units], of_column + i);
    }
    // There and back, so that each product shares a factor with the one before.
#pragma unroll
    for (unsigned i = 0; i < side; ++i) {
#pragma unroll
      for (unsigned n = 0; n < side; ++n) {
        const unsigned j = i % 2 == 0 ? n : side - 1 - n;
        sum[i][j] = fused(of_row[i], of_column[j], sum[i][j]);
      }
    }
    if constexpr (Tile::is_whole) end_step();
  }
  if constexpr (Tile::is_whole) end_piece(sum);
}

template <class Tile, class Stored, class Number>
__forceinline__ __device__ void multiply_tile(const Matmul& all, uint64_t work, const Stored* a,
                                              const Stored* b, Stored* out, Number* partial) {
  constexpr unsigned side = Tile::side;
  constexpr unsigned depth = Tile::depth;
  constexpr unsigned row_units = Loader<Stored, Tile>::row_units;
  // Double-buffered: one step is filled while the other is read.
  auto* const of_a = reinterpret_cast<uint4(*)[depth][row_units]>(dynamic_shared());
  auto* const of_b = of_a + 2;
  const TilePlace place(all, work);
  uint64_t bases[3];
  find_places(all.batches, place.batch, bases);
  const ThreadPlace at;
  const uint64_t begin = place.chunk * all.chunk;
  uint64_t left = all.k - begin < all.chunk ? all.k - begin : all.chunk;  // not yet loaded
  Loader<Stored, Tile> load_a(all.a, a + bases[0], place.row * Tile::tile, begin);
  Loader<Stored, Tile> load_b(all.b, b + bases[1], place.column * Tile::tile, begin);
  unsigned now = 1;
  const auto store = [&] {
    now ^= 1;
    load_a.store(of_a[now]);
    load_b.store(of_b[now]);
    __syncthreads();
  };
  Number sum[side][side] = {};
  if constexpr (Tile::is_whole) {
    load_a.load();
    load_b.load();
    // One multiplication for all steps: with two of them, compilers find worse registers.
#pragma unroll 1
    for (;;) {
      store();
      left -= depth;
      if (left > 0) {
        load_a.load();
        load_b.load();
      }
      multiply_piece<Tile, depth>(of_a[now], of_b[now], at, sum);
      if (left == 0) break;
    }
  } else {
    // Products of these are -0, which changes no sum, not even a sum of -0.
    const Stored zero = Element<Stored>::narrow(0);
    const Stored minus_zero = Element<Stored>::narrow(-Number(0));
    const auto load_any = [&] {
      load_a.load(left, zero);
      load_b.load(left, minus_zero);
      left = left < depth ? 0 : left - depth;
    };
    load_any();
    store();
    // A loop of its own for whole pieces: in one loop for all, compilers make several loads of each
    // piece.
    if (all.a.has_pieces && all.b.has_pieces) {
#pragma unroll 1
      for (; left >= depth; left -= depth) {
        load_a.load();
        load_b.load();
        multiply_piece<Tile, 2>(of_a[now], of_b[now], at, sum);
        store();
      }
    }
#pragma unroll 1
    for (;;) {
      const bool is_last = left == 0;
      if (!is_last) load_any();
      multiply_piece<Tile, 2>(of_a[now], of_b[now], at, sum);
      if (is_last) break;
      store();
    }
  }
  // The rows of sums move up by one each time, so that there is one copy of the code.
#pragma unroll 1
  for (unsigned i = 0; i < side; ++i) {
    const uint64_t row = place.row * Tile::tile + i / 4 * 64 + 4 * at.y + i % 4;
#pragma unroll
    for (unsigned j = 0; j < side; j += 4) {
      const uint64_t column = place.column * Tile::tile + j * 16 + 4 * at.x;
      if (all.chunks == 1) {
        finish(all, out + bases[2], row, column, sum[0] + j);
      } else {
        const uint64_t matrix = place.batch * all.chunks + place.chunk;
        keep(all, partial + matrix * all.a.size * all.b.size, row, column, sum[0] + j);
      }
    }
#pragma unroll
    for (unsigned next = 1; next < side; ++next) {
#pragma unroll
      for (unsigned j = 0; j < side; ++j) sum[next - 1][j] = sum[next][j];
    }
  }
}

template <class Tile, class Stored, class Number>
__forceinline__ __device__ void multiply(const Matmul& all, const Stored* a, const Stored* b,
                                         Stored* out, Number* partial) {
  const uint64_t tiles = all.row_tiles * all.column_tiles * all.chunks * all.batches.count;
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < tiles; work += gridDim.x) {
    multiply_tile<Tile>(all, work, a, b, out, partial);
    __syncthreads();
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(type, name, Stored, Number, ...)                                          \
  extern "C" __global__ void __launch_bounds__(256, 2) hiptool_matmul_##type##_##name(           \
      hiptool_ops::Matmul all, const Stored* a, const Stored* b, Stored* out, Number* partial) { \
    hiptool_ops::multiply<hiptool_ops::MatmulTile<__VA_ARGS__>>(all, a, b, out, partial);        \
  }                                                                                              \
  HIPTOOL_EXPORT(hiptool_matmul_##type##_##name)

HIPTOOL_KERNEL(f32, 8, float, float, 8);
HIPTOOL_KERNEL(f16, 8, hiptool_ops::F16, float, 8);
HIPTOOL_KERNEL(bf16, 8, hiptool_ops::Bf16, float, 8);
HIPTOOL_KERNEL(f32, 4, float, float, 4);
HIPTOOL_KERNEL(f16, 4, hiptool_ops::F16, float, 4);
HIPTOOL_KERNEL(bf16, 4, hiptool_ops::Bf16, float, 4);
HIPTOOL_KERNEL(f64, 4, double, double, 4);

// Of whole pieces and steps; AMD's compilers were not seen to keep all of it in registers.
#if !defined(__AMDGCN__)
HIPTOOL_KERNEL(f32, whole, float, float, 8, true);
#endif
