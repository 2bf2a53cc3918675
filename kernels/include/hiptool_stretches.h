// SPDX-License-Identifier: MIT
// Rows in stretches of 64 columns, of which a thread loads packed numbers and scales once: NVIDIA's
// GPUs are bound by instructions where they unpack pieces of 16 columns. A row's product has the
// same order as in hiptool_file_rows.h: a stretch is four pieces, and so belongs to four lanes,
// whose sums the thread keeps.
#pragma once
#include "hiptool_file_rows.h"
#include "hiptool_placed.h"

namespace hiptool_ops {

// Types that have stretches specialise this: load() takes the packed bytes of one, and open()
// unpacks what pieces share. Of that scale<is_placed>() has a piece's scale, and
// numbers<is_placed>() four numbers of a unit: those of a type whose elements of x can be placed
// (see hiptool_placed.h) in their places, if these are.
template <class Row>
struct Stretch {
  enum : bool { is_known = false };
};

// Where unit `i` of the vector is in shared memory, from where neighbouring threads take the same
// unit of neighbouring stretches. An odd pitch lets them be stored without conflicts of banks, too.
template <class Placing = NotPlaced>
struct NeighbouringPieces : Placing {
  enum : bool { is_split = false, is_whole = true };
  static constexpr __device__ uint32_t place(uint32_t i, uint32_t pitch) {
    return i % stretch_units * pitch + i / stretch_units;
  }
  static constexpr __device__ uint32_t sum_place(uint32_t piece) { return piece; }
};

// Q6_K: of each 128 columns pieces 0, 1, 4 and 5, or the others, whose numbers share bytes.
struct SplitPieces : NotPlaced {
  enum : bool { is_split = true, is_whole = true };
  static constexpr __device__ uint32_t place(uint32_t i, uint32_t pitch) {
    return (i / 16 % 2 * 8 + i % 8) * pitch + i / 32 * 2 + i / 8 % 2;
  }
};

// Eight words as an array, which stays in registers where all indices are constants.
struct EightWords {
  uint32_t at[8];
};
inline __device__ EightWords words_of(uint4 low, uint4 high) {
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

// 32 bytes at an even address, by the two or three aligned units that have some of them: up to 14
// bytes past them are read too, which belong to the block except with Q8_0 (see type_of_memory).
struct EvenBytes {
  uint4 units[3];
  uint32_t past;

  __forceinline__ __device__ void load(const uint8_t* from) {
    past = static_cast<uint32_t>(reinterpret_cast<uint64_t>(from) % 16);
    const auto* const first = reinterpret_cast<const uint4*>(from - past);
    units[0] = load_unit(first);
    units[1] = load_unit(first + 1);
    units[2] = load_unit(first + (past + 31) / 16);
  }
  __forceinline__ __device__ EightWords words() const {
    uint32_t all[12] = {units[0].x, units[0].y, units[0].z, units[0].w, units[1].x, units[1].y,
                        units[1].z, units[1].w, units[2].x, units[2].y, units[2].z, units[2].w};
    // By masks, because compilers would choose between places in memory.
    const uint32_t eight = 0 - (past >> 3 & 1U);
    const uint32_t four = 0 - (past >> 2 & 1U);
    const uint32_t bits = (past & 2U) * 8;
    EightWords words;
#pragma unroll
    for (uint32_t j = 0; j < 10; ++j) all[j] = (all[j + 2] & eight) | (all[j] & ~eight);
#pragma unroll
    for (uint32_t j = 0; j < 9; ++j) all[j] = (all[j + 1] & four) | (all[j] & ~four);
#pragma unroll
    for (uint32_t j = 0; j < 8; ++j) {
      words.at[j] =
          static_cast<uint32_t>((static_cast<uint64_t>(all[j + 1]) << 32 | all[j]) >> bits);
    }
    return words;
  }
};

// Q4_K and Q5_K: of a half of a block, whose four runs of 32 columns have a scale each. The steps
// of runs are so many times theirs.
struct NibbleScales {
  float step;
  float minimum;
  uint32_t steps;  // a byte for each run
  uint32_t minima;

  __forceinline__ __device__ NibbleScales(uint4 head, bool is_late, float times)
      : step(f16_to_value(static_cast<uint16_t>(head.x)) * times),
        minimum(f16_to_value(static_cast<uint16_t>(head.x >> 16))) {
    steps = is_late ? (head.w & 0x0F0F0F0FU) | (head.y >> 2 & 0x30303030U) : head.y & 0x3F3F3F3FU;
    minima =
        is_late ? (head.w >> 4 & 0x0F0F0F0FU) | (head.z >> 2 & 0x30303030U) : head.z & 0x3F3F3F3FU;
  }
  __forceinline__ __device__ hiptool_blocks::Scale of_run(uint32_t run) const {
    return {step * hiptool_blocks::number_of_byte(steps, run),
            minimum * hiptool_blocks::number_of_byte(minima, run)};
  }
};

// Two runs, in the lower and in the upper nibbles of 32 bytes.
template <unsigned run_bits>
struct StretchOfRuns : NeighbouringPieces<PlacedToken<run_bits>> {
  enum : bool { is_known = true };

  struct OpenedRuns {
    hiptool_blocks::Scale scales[2];
    EightWords words;
    // Of stretch `part` of a block.
    __forceinline__ __device__ OpenedRuns(uint4 head, uint32_t part, uint4 low, uint4 high)
        : words(words_of(low, high)) {
      const NibbleScales all(head, part / 2 != 0, 1);
      scales[0] = all.of_run(part % 2 * 2);
      scales[1] = all.of_run(part % 2 * 2 + 1);
    }
    template <bool is_placed>
    __forceinline__ __device__ hiptool_blocks::Scale scale(uint32_t piece) const {
      const hiptool_blocks::Scale& own = scales[piece / 2];
      return {is_placed ? own.step * step_of_places : own.step, own.minimum};
    }
  };
};

template <>
struct Stretch<BlockRow<hiptool_blocks::q4_k>> : StretchOfRuns<4> {
  uint4 head;
  uint4 low;
  uint4 high;

  struct Opened : OpenedRuns {
    using OpenedRuns::OpenedRuns;
    template <bool is_placed>
    __forceinline__ __device__ void numbers(uint32_t unit, float* four) const {
      nibble_numbers<is_placed>(words.at[unit % 8], unit / 8, four);
    }
  };

  __forceinline__ __device__ void load(const uint8_t* row, uint32_t stretch, uint32_t) {
    const uint8_t* const block = row + static_cast<uint64_t>(stretch / 4) * 144;
    const auto* const units = reinterpret_cast<const uint4*>(block);
    head = load_unit(units);
    low = load_unit(units + 1 + stretch % 4 * 2);
    high = load_unit(units + 2 + stretch % 4 * 2);
  }
  __forceinline__ __device__ Opened open(uint32_t stretch) const {
    return {head, stretch % 4, low, high};
  }
};

template <>
struct Stretch<BlockRow<hiptool_blocks::q5_k>> : StretchOfRuns<0> {
  uint4 head;
  uint4 fifths[2];
  uint4 low;
  uint4 high;

  struct Opened : OpenedRuns {
    EightWords fifths;  // in bits 4 and 5 of each byte
    using OpenedRuns::OpenedRuns;
    template <bool is_placed>
    __forceinline__ __device__ void numbers(uint32_t unit, float* four) const {
      const uint32_t run = unit / 8;
      byte_numbers<is_placed>((words.at[unit % 8] >> (4 * run) & 0x0F0F0F0FU) |
                                  (fifths.at[unit % 8] >> run & 0x10101010U),
                              four);
    }
  };

  __forceinline__ __device__ void load(const uint8_t* row, uint32_t stretch, uint32_t) {
    const uint8_t* const block = row + static_cast<uint64_t>(stretch / 4) * 176;
    const auto* const units = reinterpret_cast<const uint4*>(block);
    head = load_unit(units);
    fifths[0] = load_unit(units + 1);
    fifths[1] = load_unit(units + 2);
    low = load_unit(units + 3 + stretch % 4 * 2);
    high = load_unit(units + 4 + stretch % 4 * 2);
  }
  __forceinline__ __device__ Opened open(uint32_t stretch) const {
    Opened opened(head, stretch % 4, low, high);
    opened.fifths = words_of(fifths[0], fifths[1]);
    const uint32_t right = (stretch % 4 * 2 + 28) % 32;
#pragma unroll
    for (uint32_t& word : opened.fifths.at) word = word >> right | word << (32 - right) % 32;
    return opened;
  }
};

// Four bits of each number are in 64 bytes of 128 columns, two in 32 bytes.
template <>
struct Stretch<BlockRow<hiptool_blocks::q6_k>> : SplitPieces {
  enum : bool { is_known = true };
  EvenBytes low;
  EvenBytes high;
  uint16_t scales[2];  // of two neighbouring pieces each
  uint16_t step;

  struct Opened {
    float scales[4];
    EightWords words;
    EightWords pairs;  // the two bits of each run in its half of a byte
    template <bool>
    __forceinline__ __device__ hiptool_blocks::Scale scale(uint32_t piece) const {
      return {scales[piece], 0};
    }
    template <bool>
    __forceinline__ __device__ void numbers(uint32_t unit, float* four) const {
      const uint32_t run = unit / 8;
      hiptool_blocks::numbers_of_bytes((words.at[unit % 8] >> (4 * run) & 0x0F0F0F0FU) |
                                           (pairs.at[unit % 8] << (4 - 4 * run) & 0x30303030U),
                                       32, four);
    }
  };

  __forceinline__ __device__ void load(const uint8_t* row, uint32_t stretch, uint32_t) {
    const uint8_t* const block = row + static_cast<uint64_t>(stretch / 4) * 210;
    const uint32_t half = stretch / 2 % 2;
    const uint32_t part = stretch % 2;
    low.load(block + half * 64 + part * 32);
    high.load(block + 128 + half * 32);
    const uint8_t* const own = block + 192 + half * 8 + part * 2;
    scales[0] = hiptool_blocks::bits_16(own);
    scales[1] = hiptool_blocks::bits_16(own + 4);
    step = hiptool_blocks::bits_16(block + 208);
  }
  __forceinline__ __device__ Opened open(uint32_t stretch) const {
    Opened opened = {{}, low.words(), high.words()};
    const uint32_t four = (scales[0] | static_cast<uint32_t>(scales[1]) << 16) ^ 0x80808080U;
    const float d = f16_to_value(step);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      opened.scales[k] = d * hiptool_blocks::number_of_byte(four, k, 128);
    }
#pragma unroll
    for (uint32_t& word : opened.pairs.at) word = word >> (stretch % 2 * 2);
    return opened;
  }
};

// Two blocks, of which a row's last stretch may lack the second.
template <>
struct Stretch<BlockRow<hiptool_blocks::q8_0>> : NeighbouringPieces<> {
  enum : bool { is_known = true, is_whole = false };
  EvenBytes bytes[2];
  uint16_t steps[2];

  struct Opened {
    float steps[2];
    EightWords words[2];
    template <bool>
    __forceinline__ __device__ hiptool_blocks::Scale scale(uint32_t piece) const {
      return {steps[piece / 2], 0};
    }
    template <bool>
    __forceinline__ __device__ void numbers(uint32_t unit, float* four) const {
      hiptool_blocks::numbers_of_bytes(words[unit / 8].at[unit % 8] ^ 0x80808080U, 128, four);
    }
  };

  __forceinline__ __device__ void load(const uint8_t* row, uint32_t stretch, uint32_t pieces) {
    const uint8_t* const block = row + static_cast<uint64_t>(stretch) * 68;
    const uint32_t other = stretch * stretch_pieces + 2 < pieces ? 34 : 0;
#pragma unroll
    for (uint32_t k = 0; k < 2; ++k) {
      bytes[k].load(block + k * other + 2);
      steps[k] = hiptool_blocks::bits_16(block + k * other);
    }
  }
  __forceinline__ __device__ Opened open(uint32_t) const {
    return {{f16_to_value(steps[0]), f16_to_value(steps[1])}, {bytes[0].words(), bytes[1].words()}};
  }
};

// Of 16 threads, each of which takes every 16th stretch of the same row. All threads of a warp go
// through them together.
template <class Row>
struct StretchReader {
  const uint8_t* line;
  uint32_t end;  // of the row
  uint32_t pieces;
  Stretch<Row> loaded;

  // Past the end the last one is loaded again: loads on a condition take more instructions.
  __forceinline__ __device__ void load(uint32_t stretch) {
    loaded.load(line, stretch < end ? stretch : end - 1, pieces);
    keep_loads_before();
  }
};

// Adds one stretch to the sums of a thread. `pieces`: end of the row.
template <class Row, bool is_placed>
__forceinline__ __device__ void add_stretch(const typename Stretch<Row>::Opened& own,
                                            const uint4* units, const float* sums_of_x,
                                            uint32_t stretch, uint32_t pieces, float* sums) {
  using Own = Stretch<Row>;
  float of_x[stretch_pieces] = {};
  if constexpr (Row::has_minimum) read_unit(*reinterpret_cast<const uint4*>(sums_of_x), of_x);
#pragma unroll
  for (unsigned turn = 0; turn < 2; ++turn) {
    if (!Own::is_whole && turn == 1 && stretch * stretch_pieces + 2 >= pieces) break;
    // Of two pieces alternately, so that additions need not wait for each other.
    const unsigned both[2] = {Own::is_whole ? turn : 2 * turn,
                              Own::is_whole ? turn + 2 : 2 * turn + 1};
    float added[2] = {};
#pragma unroll
    for (unsigned step = 0; step < 8; ++step) {
      const unsigned unit = both[step % 2] * 4 + step / 2;
      float vector[4];
      read_unit(units[unit * stretch_pitch], vector);
      float four[4];
      own.template numbers<is_placed>(unit, four);
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        added[step % 2] = __fmaf_rn(four[j], vector[j], added[step % 2]);
      }
    }
#pragma unroll
    for (unsigned k = 0; k < 2; ++k) {
      const unsigned piece = both[k];
      sums[piece] = end_piece(rule_of<Row>(), own.template scale<is_placed>(piece), added[k],
                              of_x[piece], sums[piece]);
    }
  }
}

// Adds the stretches from `first` on, before `end`, of which the own one is `own` further. The
// bytes of a stretch are on their way while the one before it is added: turn() makes the reader's
// line the next row's when this one has ended, or returns false if there is none.
template <class Row, class Vector, class Turn>
__forceinline__ __device__ void add_stretches(StretchReader<Row>& reader, const Vector& x,
                                              uint32_t first, uint32_t end, uint32_t own, Turn turn,
                                              float* sums) {
  uint32_t stretch = first + own;
#pragma unroll 1
  for (uint32_t group = first; group < end; group += stretch_threads) {
    const typename Stretch<Row>::Opened opened = reader.loaded.open(stretch);
    const uint32_t next = stretch + stretch_threads;
    const bool has_ended = group + stretch_threads >= reader.end;
    if (!has_ended || turn()) reader.load(has_ended ? own : next);
    if (stretch < end) {
      if (Stretch<Row>::has_places && x.is_placed) {
        add_stretch<Row, true>(opened, x.units_of(stretch), x.sums_of(stretch), stretch,
                               reader.pieces, sums);
      } else {
        add_stretch<Row, false>(opened, x.units_of(stretch), x.sums_of(stretch), stretch,
                                reader.pieces, sums);
      }
    }
    stretch = next;
  }
}

// Joins a row's lanes by the tree of join_lanes, first those that are 32, 16 and 8 apart: all 16
// threads get the result.
template <class Row>
__forceinline__ __device__ float join_stretches(const float* sums) {
  float joined[stretch_pieces];
#pragma unroll
  for (unsigned k = 0; k < stretch_pieces; ++k) joined[k] = sums[k];
  hiptool_device::add_across<8, Stretch<Row>::is_split ? 2 : 1>(joined);
  joined[0] = joined[0] + joined[2];
  joined[1] = joined[1] + joined[3];
  if constexpr (Stretch<Row>::is_split) {
    joined[0] = joined[0] + __shfl_xor(joined[0], 1);
    joined[1] = joined[1] + __shfl_xor(joined[1], 1);
  }
  return joined[0] + joined[1];
}

}  // namespace hiptool_ops
