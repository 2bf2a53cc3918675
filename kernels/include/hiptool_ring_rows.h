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

// A thread has a quarter of a block, four pieces and the sums of as many lanes, of two rows, for
// which it loads an element of the token once. The sums of the pieces' elements follow those of a
// turn: a unit for each thread.
template <>
struct RingRow<BlockRow<hiptool_blocks::q4_k>> {
  static constexpr unsigned threads = 16;
  static constexpr unsigned rows = 2;
  static constexpr unsigned units = 36;
  static constexpr unsigned slot_units = 36;
  static constexpr unsigned slots = 2;
  static constexpr unsigned sums = 4;
  static constexpr unsigned block_units = 9;
  static constexpr unsigned thread_units = 16;
  static constexpr unsigned sums_begin = threads * (thread_units + 1);
  static constexpr unsigned token_units = sums_begin + threads;
  static constexpr bool has_sums = true;
  using Placing = PlacedToken<4>;
  uint4 head;
  uint4 numbers[2];  // of both runs of 32 columns

  static constexpr __device__ unsigned place(unsigned own) { return own; }
  // One unit is left out after those of a thread: neighbouring threads then take units of different
  // groups of banks.
  static constexpr __device__ uint32_t token_place(uint32_t i) {
    const uint32_t inside = i % (threads * thread_units);
    return i / (threads * thread_units) * token_units + inside + inside / thread_units;
  }
  static constexpr __device__ uint32_t sum_place(uint32_t piece) {
    return (piece / ring_pieces * token_units + sums_begin) * 4 + piece % ring_pieces;
  }
  __forceinline__ __device__ void load(const uint4* turn, unsigned own) {
    const uint4* const block = turn + own / 4 * block_units;
    head = load_unit(block);
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) numbers[i] = load_unit(block + 1 + own % 4 * 2 + i);
  }
  template <bool is_placed>
  static __forceinline__ __device__ void add(const RingRow* turns, const uint4* token, unsigned own,
                                             uint32_t pieces, float (*to)[sums]) {
    if (own * 4 >= pieces) return;
    hiptool_blocks::Scale scales[rows][2];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      const NibbleScales all(turns[r].head, own % 4 / 2 != 0, is_placed ? step_of_places : 1);
      scales[r][0] = all.of_run(own % 2 * 2);
      scales[r][1] = all.of_run(own % 2 * 2 + 1);
    }
    float of_x[4];
    read_unit(token[sums_begin + own], of_x);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      add_half<is_placed>(half, turns, token + own * (thread_units + 1), scales, of_x, to);
    }
  }
  static __forceinline__ __device__ float join(float* own) {
    join_halves<4>(own, 8);
    join_halves<2>(own, 4);
    float sum[1] = {own[0]};
    hiptool_device::add_across<2, 1>(sum);
    sum[0] = sum[0] + __shfl_xor(sum[0], 8);
    return sum[0] + __shfl_xor(sum[0], 4);
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
  // The first or second pieces of both runs, alternately, so that additions need not wait for each
  // other.
  template <bool is_placed>
  static __forceinline__ __device__ void add_half(unsigned half, const RingRow* turns,
                                                  const uint4* elements,
                                                  const hiptool_blocks::Scale (*scales)[2],
                                                  const float* of_x, float (*to)[sums]) {
    float added[rows][2] = {};
#pragma unroll
    for (unsigned at = 0; at < 4; ++at) {
#pragma unroll
      for (unsigned run = 0; run < 2; ++run) {
        float x[4];
        read_unit(elements[run * 8 + half * 4 + at], x);
#pragma unroll
        for (unsigned r = 0; r < rows; ++r) {
          const uint4& unit = turns[r].numbers[half];
          const uint32_t words[4] = {unit.x, unit.y, unit.z, unit.w};
          float four[4];
          nibble_numbers<is_placed>(words[at], run, four);
#pragma unroll
          for (unsigned k = 0; k < 4; ++k) added[r][run] = __fmaf_rn(four[k], x[k], added[r][run]);
        }
      }
    }
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
#pragma unroll
      for (unsigned run = 0; run < 2; ++run) {
        const unsigned piece = run * 2 + half;
        to[r][piece] =
            end_piece({true, true}, scales[r][run], added[r][run], of_x[piece], to[r][piece]);
      }
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
