// SPDX-License-Identifier: MIT
// Types whose rows come through a ring of slots in shared memory, in turns of 1024 columns: in each
// of them a lane of hiptool_file_rows.h has one piece.
#pragma once
#include "hiptool_stretches.h"

namespace hiptool_ops {

// What types specialise. `threads` share a row, of which each takes `rows`; a turn of a row has
// `units` of 16 bytes, and a slot in shared memory `slot_units` for them. place(): where there unit
// `own` is; units that are `threads` apart are so there, too. Of the token a turn has
// `token_units`, of which token_place() has unit `i`. load() takes what a thread has of a turn, and
// add() adds its products to `sums` sums of each row, which has `pieces` left.
template <class Row>
struct RingRow;

// A thread has half of a block: eight pieces, and the sums of as many lanes. The sums of the
// pieces' elements follow those of a turn: two units for each thread.
template <>
struct RingRow<BlockRow<hiptool_blocks::q4_k>> {
  static constexpr unsigned threads = 8;
  static constexpr unsigned rows = 1;
  static constexpr unsigned units = 36;
  static constexpr unsigned slot_units = 36;
  static constexpr unsigned slots = 2;
  static constexpr unsigned sums = 8;
  static constexpr unsigned block_units = 9;
  static constexpr unsigned thread_units = 32;
  static constexpr unsigned sums_begin = threads * (thread_units + 1);
  static constexpr unsigned token_units = sums_begin + 2 * threads;
  static constexpr bool has_sums = true;
  using Placing = PlacedToken<4>;
  uint4 head;
  uint4 numbers[4];

  static constexpr __device__ unsigned place(unsigned own) { return own; }
  // One unit is left out after those of a thread: neighbouring threads then take units of different
  // groups of banks. For the same reason the second units of sums follow the first ones.
  static constexpr __device__ uint32_t token_place(uint32_t i) {
    const uint32_t inside = i % (threads * thread_units);
    return i / (threads * thread_units) * token_units + inside + inside / thread_units;
  }
  static constexpr __device__ uint32_t sum_place(uint32_t piece) {
    const uint32_t unit = piece % ring_pieces / 4;
    return (piece / ring_pieces * token_units + sums_begin + unit % 2 * threads + unit / 2) * 4 +
           piece % 4;
  }
  __forceinline__ __device__ void load(const uint4* turn, unsigned own) {
    const uint4* const block = turn + own / 2 * block_units;
    head = load_unit(block);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) numbers[i] = load_unit(block + 1 + own % 2 * 4 + i);
  }
  template <bool is_placed>
  static __forceinline__ __device__ void add(const RingRow* turns, const uint4* token, unsigned own,
                                             uint32_t pieces, float (*to)[sums]) {
    if (own * 8 >= pieces) return;
    const NibbleScales scales(turns[0].head, own % 2 != 0, is_placed ? step_of_places : 1);
    const uint4* const elements = token + own * (thread_units + 1);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      float of_x[4];
      read_unit(token[sums_begin + half * threads + own], of_x);
#pragma unroll
      for (unsigned piece = 0; piece < 2; ++piece) {
        turns[0].template add_two<is_placed>(half * 2 + piece, scales, elements, of_x + piece,
                                             to[0] + half * 4 + piece);
      }
    }
  }
  static __forceinline__ __device__ float join(float* own) {
    join_halves<8>(own, 4);
    join_halves<4>(own, 2);
    join_halves<2>(own, 1);
    float sum[1] = {own[0]};
    hiptool_device::add_across<4, 1>(sum);
    return sum[0];
  }

 private:
  // Joins the sums of two threads that differ by `distance`: each keeps half of them.
  template <unsigned count>
  static __forceinline__ __device__ void join_halves(float* own, unsigned distance) {
    const bool has_upper = (threadIdx.x & distance) != 0;
#pragma unroll
    for (unsigned i = 0; i < count / 2; ++i) {
      const float low = own[i];
      const float high = own[i + count / 2];
      own[i] =
          (has_upper ? high : low) + __shfl_xor(has_upper ? low : high, static_cast<int>(distance));
    }
  }
  // The pieces of the lower and of the upper nibbles of a unit, two apart, alternately, so that
  // additions need not wait for each other.
  template <bool is_placed>
  __forceinline__ __device__ void add_two(unsigned unit, const NibbleScales& scales,
                                          const uint4* elements, const float* of_x,
                                          float* to) const {
    const uint32_t words[4] = {numbers[unit].x, numbers[unit].y, numbers[unit].z, numbers[unit].w};
    float added[2] = {};
#pragma unroll
    for (unsigned at = 0; at < 4; ++at) {
#pragma unroll
      for (unsigned run = 0; run < 2; ++run) {
        float four[4];
        nibble_numbers<is_placed>(words[at], run, four);
        float x[4];
        read_unit(elements[unit / 2 * 16 + run * 8 + unit % 2 * 4 + at], x);
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) added[run] = __fmaf_rn(four[k], x[k], added[run]);
      }
    }
#pragma unroll
    for (unsigned run = 0; run < 2; ++run) {
      to[2 * run] = end_piece({true, true}, scales.of_run(unit / 2 * 2 + run), added[run],
                              of_x[2 * run], to[2 * run]);
    }
  }
};

// A thread has two pieces, 32 apart, of two rows. In every second line of 128 bytes of a slot
// neighbouring units change places, so that the first halves of eight neighbouring pieces are in
// different groups of banks.
template <class Stored>
struct PlainRingRow {
  static constexpr unsigned threads = 32;
  static constexpr unsigned rows = 2;
  static constexpr unsigned units = 128;
  static constexpr unsigned slot_units = 128;
  static constexpr unsigned slots = 2;
  static constexpr unsigned sums = 2;
  static constexpr unsigned quarter_units = 66;
  static constexpr unsigned token_units = 4 * quarter_units;
  static constexpr bool has_sums = false;
  using Placing = NotPlaced;
  uint4 halves[2][2];

  static constexpr __device__ unsigned place(unsigned own) { return own ^ (own >> 3 & 1U); }
  static constexpr __device__ uint32_t token_place(uint32_t i) {
    return i / 256 * token_units + i % 4 * quarter_units + i / 4 % 64;
  }
  __forceinline__ __device__ void load(const uint4* turn, unsigned own) {
    const uint4* const first = turn + place(2 * own);
    const uint4* const second = turn + place(2 * own + 1);
#pragma unroll
    for (unsigned piece = 0; piece < 2; ++piece) {
      halves[piece][0] = load_unit(first + piece * (2 * threads));
      halves[piece][1] = load_unit(second + piece * (2 * threads));
    }
  }
  template <bool>
  static __forceinline__ __device__ void add(const PlainRingRow* turns, const uint4* token,
                                             unsigned own, uint32_t pieces, float (*to)[2]) {
#pragma unroll
    for (unsigned piece = 0; piece < 2; ++piece) {
      const unsigned at = piece * threads + own;
      if (at >= pieces) return;
      alignas(16) Stored stored[rows][dot_piece];
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        move_bytes<16>(stored[r], &turns[r].halves[piece][0]);
        move_bytes<16>(stored[r] + 8, &turns[r].halves[piece][1]);
      }
#pragma unroll
      for (unsigned quarter = 0; quarter < 4; ++quarter) {
        float x[4];
        read_unit(token[quarter * quarter_units + at], x);
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) {
#pragma unroll
          for (unsigned r = 0; r < rows; ++r) {
            const float number = Element<Stored>::widen(stored[r][quarter * 4 + k]);
            to[r][piece] = __fmaf_rn(number, x[k], to[r][piece]);
          }
        }
      }
    }
  }
  static __forceinline__ __device__ float join(float* own) {
    float sum[1] = {own[0] + own[1]};
    hiptool_device::add_across<16, 1>(sum);
    return sum[0];
  }
};
template <>
struct RingRow<PlainRow<F16>> : PlainRingRow<F16> {};
template <>
struct RingRow<PlainRow<Bf16>> : PlainRingRow<Bf16> {};

}  // namespace hiptool_ops
