// SPDX-License-Identifier: MIT
// Rows in stretches of 64 columns, of which a thread loads packed numbers and scales once: NVIDIA's
// GPUs are bound by instructions where they unpack pieces of 16 columns. The order of a row's
// product stays that of hiptool_file_rows.h: a stretch is four pieces, and so belongs to four
// lanes, whose sums the thread keeps.
#pragma once
#include "hiptool_file_rows.h"

namespace hiptool_ops {

// Types that have stretches specialise this. They load the packed bytes of one, find its scales,
// and answer the numbers of its units.
template <class Row>
struct Stretch {
  enum : bool { is_known = false };
};

// Where unit `i` of the vector is in shared memory, from where neighbouring threads take the same
// unit of neighbouring stretches. An odd pitch lets them be stored without conflicts of banks, too.
struct NeighbouringPieces {
  enum : bool { is_split = false };
  static constexpr uint32_t place(uint32_t i, uint32_t pitch) {
    return i % stretch_units * pitch + i / stretch_units;
  }
};

// Of Q4_K and Q5_K: two runs of 32 columns, in the lower and in the upper nibbles of 32 bytes.
struct NibbleScales {
  float steps[2];
  float minima[2];

  // Of stretch `part` of a block. Two scales or minima at a time are neighbouring bytes.
  __forceinline__ __device__ NibbleScales(uint4 head, uint32_t part) {
    const uint32_t at = part % 2 * 16;
    const uint32_t first = head.y >> at;
    const uint32_t second = head.z >> at;
    const uint32_t last = head.w >> at;
    const bool is_late = part / 2 % 2 != 0;
    const uint32_t scales = is_late ? (last & 0x0F0FU) | (first >> 2 & 0x3030U) : first & 0x3F3FU;
    const uint32_t least =
        is_late ? (last >> 4 & 0x0F0FU) | (second >> 2 & 0x3030U) : second & 0x3F3FU;
    const float step = f16_to_value(static_cast<uint16_t>(head.x));
    const float minimum = f16_to_value(static_cast<uint16_t>(head.x >> 16));
#pragma unroll
    for (uint32_t k = 0; k < 2; ++k) {
      steps[k] = step * hiptool_blocks::number_of_byte(scales, k);
      minima[k] = minimum * hiptool_blocks::number_of_byte(least, k);
    }
  }
};

// Words of units as an array, which stays in registers where all indices are constants.
struct EightWords {
  uint32_t at[8];
  __forceinline__ __device__ EightWords(uint4 low, uint4 high)
      : at{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w} {}
};

template <>
struct Stretch<BlockRow<256, 144, hiptool_blocks::q4_k_values>> : NeighbouringPieces {
  enum : bool { is_known = true };
  using Scales = NibbleScales;
  uint4 head;
  uint4 low;
  uint4 high;

  __forceinline__ __device__ void load(const uint8_t* row, uint32_t stretch) {
    const uint8_t* const block = row + static_cast<uint64_t>(stretch / 4) * 144;
    const auto* const units = reinterpret_cast<const uint4*>(block + 16 + stretch % 4 * 32);
    head = load_unit(reinterpret_cast<const uint4*>(block));
    low = load_unit(units);
    high = load_unit(units + 1);
  }
  __forceinline__ __device__ Scales scales(uint32_t stretch) const {
    Scales all(head, stretch % 4);
    all.steps[1] = all.steps[1] * 0.0625F;
    return all;
  }
  // The upper nibbles stay where they are, as 16 times their numbers.
  __forceinline__ __device__ void values(const Scales& all, uint32_t unit, float* four) const {
    const uint32_t run = unit / 8;
    const uint32_t q = EightWords(low, high).at[unit % 8] & (run == 0 ? 0x0F0F0F0FU : 0xF0F0F0F0U);
    hiptool_blocks::scale_and_subtract(q, all.steps[run], all.minima[run], four);
  }
};

// Adds a thread's stretches, from the first on, to the sums of its rows. `pieces`: end of the rows.
template <class Row, unsigned rows, class Vector>
__forceinline__ __device__ void add_stretches(const uint8_t* const* lines, const Vector& x,
                                              uint32_t first, uint32_t pieces,
                                              float (*sums)[stretch_pieces]) {
  using Own = Stretch<Row>;
#pragma unroll 1
  for (uint32_t stretch = first; stretch * stretch_pieces < pieces; stretch += stretch_threads) {
    Own own[rows];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) own[r].load(lines[r], stretch);
    const uint4* const units = x.units_of(stretch);
    typename Own::Scales scales[rows] = {own[0].scales(stretch), own[1].scales(stretch)};
#pragma unroll
    for (unsigned step = 0; step < stretch_units; ++step) {
      const unsigned unit = step % 2 * 8 + step / 2;
      float vector[4];
      read_unit(units[unit * stretch_pitch], vector);
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        float four[4];
        own[r].values(scales[r], unit, four);
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
          sums[r][unit / 4] = __fmaf_rn(four[j], vector[j], sums[r][unit / 4]);
        }
      }
    }
  }
}

// Joins a row's lanes by the tree of join_lanes: all 16 threads get the result.
template <class Row>
__forceinline__ __device__ float join_stretches(const float* sums) {
  float joined[stretch_pieces];
#pragma unroll
  for (unsigned k = 0; k < stretch_pieces; ++k) joined[k] = sums[k];
    // Lanes that are 32, 16 and 8 apart.
#pragma unroll
  for (int distance = 8; distance > 1; distance /= 2) {
#pragma unroll
    for (float& sum : joined) sum = sum + __shfl_xor(sum, distance);
  }
  if constexpr (!Stretch<Row>::is_split) {
#pragma unroll
    for (float& sum : joined) sum = sum + __shfl_xor(sum, 1);
  }
  joined[0] = joined[0] + joined[2];
  joined[1] = joined[1] + joined[3];
  if constexpr (Stretch<Row>::is_split) {
    joined[0] = joined[0] + __shfl_xor(joined[0], 1);
    joined[1] = joined[1] + __shfl_xor(joined[1], 1);
  }
  return joined[0] + joined[1];
}

}  // namespace hiptool_ops
