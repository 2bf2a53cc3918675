// SPDX-License-Identifier: MIT
// Types whose rows come through a ring of slots in shared memory, in turns of 1024 columns: in each
// of them a lane of hiptool_file_rows.h has one piece.
#pragma once
#include "hiptool_stretches.h"

namespace hiptool_ops {

// What types specialise. `threads` share a row, of which each takes `rows`; a turn of a row has
// `units` of 16 bytes, and a slot in shared memory `slot_units` for them. place(): where there unit
// `own` is; units that are `threads` apart are so there, too. token_place(): where unit `i` of the
// token is. load() takes what a thread has of a turn, and add() adds its products to `sums` sums of
// each row, which has `pieces` left.
template <class Row>
struct RingRow;

// A thread has half of a block: eight pieces, and the sums of as many lanes.
template <>
struct RingRow<BlockRow<256, 144, hiptool_blocks::q4_k_values>> {
  static constexpr unsigned threads = 8;
  static constexpr unsigned rows = 1;
  static constexpr unsigned units = 36;
  static constexpr unsigned slot_units = 36;
  static constexpr unsigned slots = 2;
  static constexpr unsigned sums = 8;
  static constexpr unsigned block_units = 9;
  static constexpr unsigned thread_units = 32;
  uint4 head;
  uint4 numbers[4];

  static constexpr __device__ unsigned place(unsigned own) { return own; }
  // One unit is left out after those of a thread: neighbouring threads then take units of different
  // groups of banks.
  static constexpr __device__ uint32_t token_place(uint32_t i) { return i + i / thread_units; }
  __forceinline__ __device__ void load(const uint4* turn, unsigned own) {
    const uint4* const block = turn + own / 2 * block_units;
    head = load_unit(block);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) numbers[i] = load_unit(block + 1 + own % 2 * 4 + i);
  }
  static __forceinline__ __device__ void add(const RingRow* turns, const uint4* token, unsigned own,
                                             uint32_t pieces, float (*to)[sums]) {
    if (own * 8 >= pieces) return;
    const uint4* const units_of_own = token + own * (thread_units + 1);
    if (NibbleScales::can_shift_of(turns[0].head)) {
      turns[0].add_shifted(units_of_own, own, to[0]);
    } else {
      turns[0].add_plain(units_of_own, own, to[0]);
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
  __forceinline__ __device__ uint32_t word(unsigned part, unsigned at) const {
    const uint4& four = numbers[part / 2 * 2 + at / 4];
    const uint32_t words[4] = {four.x, four.y, four.z, four.w};
    return words[at % 4] >> (part % 2 * 4) & 0x0F0F0F0FU;
  }
  // As NibbleScales, of four runs of 32 columns.
  __forceinline__ __device__ void add_shifted(const uint4* token, unsigned own, float* to) const {
    const bool is_late = own % 2 != 0;
    const uint32_t scales =
        is_late ? (head.w & 0x0F0F0F0FU) | (head.y >> 2 & 0x30303030U) : head.y & 0x3F3F3F3FU;
    const uint32_t least =
        is_late ? (head.w >> 4 & 0x0F0F0F0FU) | (head.z >> 2 & 0x30303030U) : head.z & 0x3F3F3F3FU;
    const float step = f16_to_value(static_cast<uint16_t>(head.x));
    const float minimum = f16_to_value(static_cast<uint16_t>(head.x >> 16));
#pragma unroll
    for (unsigned part = 0; part < 4; ++part) {
      // Exact, as products of 17 bits.
      const float own_step =
          __fmaf_rn(step, hiptool_blocks::number_from_128(scales, part), step * -128.0F);
      const float own_minimum =
          __fmaf_rn(minimum, hiptool_blocks::number_from_128(least, part), minimum * -128.0F);
      const float taken = __fmaf_rn(own_step, 128.0F, own_minimum);
#pragma unroll
      for (unsigned turn = 0; turn < 8; ++turn) {
        // Of two pieces alternately, so that additions need not wait for each other.
        const unsigned at = turn % 2 * 4 + turn / 2;
        const uint32_t q = word(part, at);
        float x[4];
        read_unit(token[part * 8 + at], x);
        float& sum = to[part * 2 + at / 4];
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) {
          sum = __fmaf_rn(__fmaf_rn(own_step, hiptool_blocks::number_from_128(q, k), -taken), x[k],
                          sum);
        }
      }
    }
  }
  __forceinline__ __device__ void add_plain(const uint4* token, unsigned own, float* to) const {
#pragma unroll
    for (unsigned part = 0; part < 4; ++part) {
      const NibbleScales scales(head, own % 2 * 2 + part / 2);
#pragma unroll
      for (unsigned at = 0; at < 8; ++at) {
        float four[4];
        hiptool_blocks::scale_and_subtract(word(part, at), scales.steps[part % 2],
                                           scales.minima[part % 2], four);
        float x[4];
        read_unit(token[part * 8 + at], x);
        float& sum = to[part * 2 + at / 4];
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) sum = __fmaf_rn(four[k], x[k], sum);
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
  uint4 halves[2][2];

  static constexpr __device__ unsigned place(unsigned own) { return own ^ (own >> 3 & 1U); }
  static constexpr __device__ uint32_t token_place(uint32_t i) {
    return i / 256 * (4 * quarter_units) + i % 4 * quarter_units + i / 4 % 64;
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
