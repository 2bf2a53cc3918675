// SPDX-License-Identifier: MIT
// Rows in stretches of 64 columns, of which a thread loads packed numbers and scales once: NVIDIA's
// GPUs are bound by instructions where they unpack pieces of 16 columns. A row's product has the
// same order as in hiptool_file_rows.h: a stretch is four pieces, and so belongs to four lanes,
// whose sums the thread keeps.
#pragma once
#include "hiptool_file_rows.h"

namespace hiptool_ops {

// Types that have stretches specialise this: load() takes the packed bytes of one, and open() finds
// its scales and returns an object with the numbers of its units: values() are a scale times a
// whole number, shifted() the same numbers by one fused multiply-add for each, of the whole number
// and a power of two, from which as many scales are taken. can_shift(): that this is exact.
template <class Row>
struct Stretch {
  enum : bool { is_known = false };
};

// Where unit `i` of the vector is in shared memory, from where neighbouring threads take the same
// unit of neighbouring stretches. An odd pitch lets them be stored without conflicts of banks, too.
struct NeighbouringPieces {
  enum : bool { is_split = false, is_whole = true, has_shifted = false };
  static constexpr __device__ uint32_t place(uint32_t i, uint32_t pitch) {
    return i % stretch_units * pitch + i / stretch_units;
  }
};

// Q6_K: of each 128 columns pieces 0, 1, 4 and 5, or the others, whose numbers share bytes.
struct SplitPieces {
  enum : bool { is_split = true, is_whole = true, has_shifted = false };
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

// Q4_K and Q5_K: two runs of 32 columns, in the lower and in the upper nibbles of 32 bytes.
struct NibbleScales {
  float steps[2];
  float minima[2];
  bool can_shift;

  NibbleScales() = default;
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
    can_shift = can_shift_of(head);
#pragma unroll
    for (uint32_t k = 0; k < 2; ++k) {
      steps[k] = step * hiptool_blocks::number_of_byte(scales, k);
      minima[k] = minimum * hiptool_blocks::number_of_byte(least, k);
    }
  }
  // A scale has 11 bits and its factor 6: 128 steps and a minimum have a sum of 24 bits, unless the
  // last bit of one is too far below the other's.
  static __forceinline__ __device__ bool can_shift_of(uint4 head) {
    const uint32_t place = head.x >> 10 & 31U;
    const uint32_t above = (head.x >> 26 & 31U) - place;
    return place > 0 && place + above < 31 && above <= 14;
  }
  __forceinline__ __device__ void shifted(uint32_t q, uint32_t run, float* four) const {
    const float taken = __fmaf_rn(steps[run], 128.0F, minima[run]);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      four[k] = __fmaf_rn(steps[run], hiptool_blocks::number_from_128(q, k), -taken);
    }
  }
};

template <>
struct Stretch<BlockRow<256, 144, hiptool_blocks::q4_k_values>> : NeighbouringPieces {
  enum : bool { is_known = true, has_shifted = true };
  uint4 head;
  uint4 low;
  uint4 high;

  struct Opened {
    NibbleScales scales;
    EightWords words;
    __forceinline__ __device__ bool can_shift() const { return scales.can_shift; }
    __forceinline__ __device__ void shifted(uint32_t unit, float* four) const {
      const uint32_t run = unit / 8;
      scales.shifted(words.at[unit % 8] >> (4 * run) & 0x0F0F0F0FU, run, four);
    }
    // The upper nibbles stay where they are, as 16 times their numbers.
    __forceinline__ __device__ void values(uint32_t unit, float* four) const {
      const uint32_t run = unit / 8;
      const uint32_t q = words.at[unit % 8] & (run == 0 ? 0x0F0F0F0FU : 0xF0F0F0F0U);
      const float step = run == 0 ? scales.steps[0] : scales.steps[1] * 0.0625F;
      hiptool_blocks::scale_and_subtract(q, step, scales.minima[run], four);
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
    return {NibbleScales(head, stretch % 4), words_of(low, high)};
  }
};

template <>
struct Stretch<BlockRow<256, 176, hiptool_blocks::q5_k_values>> : NeighbouringPieces {
  enum : bool { is_known = true, has_shifted = true };
  uint4 head;
  uint4 fifths[2];
  uint4 low;
  uint4 high;

  struct Opened {
    NibbleScales scales;
    EightWords words;
    EightWords fifths;  // in bits 4 and 5 of each byte
    __forceinline__ __device__ bool can_shift() const { return scales.can_shift; }
    __forceinline__ __device__ uint32_t numbers(uint32_t unit) const {
      const uint32_t run = unit / 8;
      return (words.at[unit % 8] >> (4 * run) & 0x0F0F0F0FU) |
             (fifths.at[unit % 8] >> run & 0x10101010U);
    }
    __forceinline__ __device__ void shifted(uint32_t unit, float* four) const {
      scales.shifted(numbers(unit), unit / 8, four);
    }
    __forceinline__ __device__ void values(uint32_t unit, float* four) const {
      const uint32_t run = unit / 8;
      hiptool_blocks::scale_and_subtract(numbers(unit), scales.steps[run], scales.minima[run],
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
    Opened opened = {NibbleScales(head, stretch % 4), words_of(low, high),
                     words_of(fifths[0], fifths[1])};
    const uint32_t right = (stretch % 4 * 2 + 28) % 32;
#pragma unroll
    for (uint32_t& word : opened.fifths.at) word = word >> right | word << (32 - right) % 32;
    return opened;
  }
};

// Four bits of each number are in 64 bytes of 128 columns, two in 32 bytes.
template <>
struct Stretch<BlockRow<256, 210, hiptool_blocks::q6_k_values>> : SplitPieces {
  enum : bool { is_known = true, has_shifted = true };
  EvenBytes low;
  EvenBytes high;
  uint16_t scales[2];  // of two neighbouring pieces each
  uint16_t step;

  struct Opened {
    float scales[4];
    EightWords words;
    EightWords pairs;  // the two bits of each run in its half of a byte
    bool is_finite;
    __forceinline__ __device__ bool can_shift() const { return is_finite; }
    __forceinline__ __device__ uint32_t numbers(uint32_t unit) const {
      const uint32_t run = unit / 8;
      return (words.at[unit % 8] >> (4 * run) & 0x0F0F0F0FU) |
             (pairs.at[unit % 8] << (4 - 4 * run) & 0x30303030U);
    }
    // 160 times a scale of 19 bits has 22.
    __forceinline__ __device__ void shifted(uint32_t unit, float* four) const {
      const uint32_t q = numbers(unit);
      const float scale = scales[unit / 4];
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        four[k] = __fmaf_rn(scale, hiptool_blocks::number_from_128(q, k), scale * -160.0F);
      }
    }
    __forceinline__ __device__ void values(uint32_t unit, float* four) const {
      hiptool_blocks::scale_bytes(numbers(unit), scales[unit / 4], 32, four);
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
    Opened opened = {{}, low.words(), high.words(), (step >> 10 & 31U) != 31};
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
struct Stretch<BlockRow<32, 34, hiptool_blocks::q8_0_values>> : NeighbouringPieces {
  enum : bool { is_known = true, is_whole = false, has_shifted = true };
  EvenBytes bytes[2];
  uint16_t steps[2];

  struct Opened {
    float steps[2];
    EightWords words[2];
    bool is_finite;
    __forceinline__ __device__ bool can_shift() const { return is_finite; }
    // 32896 times a scale of 11 bits has 20.
    __forceinline__ __device__ void shifted(uint32_t unit, float* four) const {
      const uint32_t q = words[unit / 8].at[unit % 8] ^ 0x80808080U;
      const float scale = steps[unit / 8];
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        four[k] = __fmaf_rn(scale, hiptool_blocks::number_from_32768(q, k), scale * -32896.0F);
      }
    }
    __forceinline__ __device__ void values(uint32_t unit, float* four) const {
      const uint32_t q = words[unit / 8].at[unit % 8] ^ 0x80808080U;
      hiptool_blocks::scale_bytes(q, steps[unit / 8], 128, four);
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
    return {{f16_to_value(steps[0]), f16_to_value(steps[1])},
            {bytes[0].words(), bytes[1].words()},
            (steps[0] >> 10 & 31U) != 31 && (steps[1] >> 10 & 31U) != 31};
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

// Adds one stretch to the sums of a thread, by shifted numbers or not. `pieces`: end of the row.
template <class Row, bool is_shifted>
__forceinline__ __device__ void add_numbers(const typename Stretch<Row>::Opened& own,
                                            const uint4* units, uint32_t stretch, uint32_t pieces,
                                            float* sums) {
  using Own = Stretch<Row>;
#pragma unroll
  for (unsigned step = 0; step < stretch_units; ++step) {
    // Of two pieces alternately, so that additions need not wait for each other.
    unsigned unit = step % 2 * 8 + step / 2;
    if constexpr (!Own::is_whole) {
      unit = step / 8 * 8 + step % 2 * 4 + step % 8 / 2;
      if (step == 8 && stretch * stretch_pieces + 2 >= pieces) break;
    }
    float vector[4];
    read_unit(units[unit * stretch_pitch], vector);
    float four[4];
    if constexpr (is_shifted) {
      own.shifted(unit, four);
    } else {
      own.values(unit, four);
    }
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) sums[unit / 4] = __fmaf_rn(four[j], vector[j], sums[unit / 4]);
  }
}

// Where they are exact, shifted numbers save an instruction for each.
template <class Row>
__forceinline__ __device__ void add_stretch(const typename Stretch<Row>::Opened& own,
                                            const uint4* units, uint32_t stretch, uint32_t pieces,
                                            float* sums) {
  if constexpr (Stretch<Row>::has_shifted) {
    if (own.can_shift()) {
      add_numbers<Row, true>(own, units, stretch, pieces, sums);
      return;
    }
  }
  add_numbers<Row, false>(own, units, stretch, pieces, sums);
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
      add_stretch<Row>(opened, x.units_of(stretch), stretch, reader.pieces, sums);
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
