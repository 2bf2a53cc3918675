// SPDX-License-Identifier: MIT
// Pieces of both factors of a matrix product in shared memory, from which matrix instructions of
// NVIDIA read them.
#pragma once
#include "hiptool_copies.h"
#include "hiptool_products.h"

namespace hiptool_ops {

// One operand's tile: lines of units of 16 bytes, along k or along its own axis. Places says how
// long the tile is along both, how many threads copy it, and where each unit goes: units are
// permuted from line to line, so that neither eight concurrent writes nor eight concurrent reads
// share a bank. The permutation is the same for all lines of a thread. A piece may be copied in
// parts along k, each `depth` long.
template <class Places, unsigned parts = 1>
struct UnitTile : Places {
  enum : unsigned {
    unit = 8,  // numbers in 16 bytes
    side = Places::side,
    depth = Places::depth / parts,
    line_units = Places::is_across ? depth / unit : side / unit,
    lines = Places::is_across ? side : depth,
    lines_at_once = Places::threads / line_units,
    bytes = side * Places::depth * 2  // of a piece
  };
  static_assert(lines_at_once % 8 == 0, "the permutation is the same for all lines of a thread");

  const uint16_t* from;  // the thread's first unit of the piece
  uint64_t line_stride;
  unsigned rest;  // of the tile along its own axis
  uint32_t to;

  __device__ UnitTile(const MatmulFactor& factor, const uint16_t* data, uint64_t first,
                      uint64_t begin, uint32_t shared)
      : line_stride(Places::is_across ? factor.stride : factor.k_stride),
        rest(factor.size - first < side ? static_cast<unsigned>(factor.size - first) : side) {
    const unsigned line = threadIdx.x / line_units;
    const unsigned at = threadIdx.x % line_units;
    from = data + first * factor.stride + begin * factor.k_stride + line * line_stride + at * unit;
    to = shared + Places::offset(line, at);
  }

  // The thread's place in a part, counted from the first part of the first piece.
  __device__ uint32_t place_in(unsigned part) const {
    const uint32_t piece = to + part / parts * bytes;
    if constexpr (parts == 1) return piece;
    // Parts of a line differ in bits of the address that the permutation changes.
    return Places::is_across ? piece ^ (part % parts * depth * 2)
                             : piece + part % parts * depth * Places::line_bytes;
  }

  // Starts the copies of the next part, which is whole.
  __device__ void begin(unsigned part) {
    const uint32_t place = place_in(part);
#pragma unroll
    for (unsigned i = 0; i < lines; i += lines_at_once) {
      begin_copy<Places::fetches_more>(place + i * Places::line_bytes, from + i * line_stride);
    }
    from += depth * (Places::is_across ? 1 : line_stride);
  }

  // The same for any part, of which `left` elements of k exist.
  __device__ void begin(unsigned part, uint64_t left) {
    const uint32_t place = place_in(part);
    const unsigned at = threadIdx.x % line_units * unit;
#pragma unroll 1
    for (unsigned i = 0; i < lines; i += lines_at_once) {
      const unsigned line = threadIdx.x / line_units + i;
      const uint64_t lines_there = Places::is_across ? rest : left;
      const uint64_t numbers = Places::is_across ? left : rest;
      const uint64_t here = line < lines_there && at < numbers ? numbers - at : 0;
      begin_copy(place + i * Places::line_bytes, from + i * line_stride,
                 here < unit ? static_cast<unsigned>(here) * 2 : 16);
    }
    from += depth * (Places::is_across ? 1 : line_stride);
  }
};

// Two neighbouring results.
template <class Stored>
inline __device__ void finish_two(const Matmul& all, const TilePlace& place, Stored* out,
                                  float* partial, uint64_t row, uint64_t column,
                                  const float* sums) {
  if (row >= all.a.size) return;
  if (all.chunks > 1) {
    const uint64_t matrix = place.batch * all.chunks + place.chunk;
    float* const to = partial + (matrix * all.a.size + row) * all.b.size + column;
    if (column < all.b.size) to[0] = sums[0];
    if (column + 1 < all.b.size) to[1] = sums[1];
    return;
  }
  if (all.out_pieces && !all.reads_out) {
    if (column >= all.b.size) return;
    const auto alpha = static_cast<float>(all.alpha);
    const Stored results[2] = {Element<Stored>::narrow(alpha * sums[0]),
                               Element<Stored>::narrow(alpha * sums[1])};
    store_piece<2>(out + row * all.out_stride + column, results);
    return;
  }
  if (column < all.b.size) finish_one(all, out, row, column, sums[0]);
  if (column + 1 < all.b.size) finish_one(all, out, row, column + 1, sums[1]);
}

}  // namespace hiptool_ops
