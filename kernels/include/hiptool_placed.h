// SPDX-License-Identifier: MIT
// Small whole numbers that NVIDIA's kernels take for floats where they are in a word, without an
// instruction but the choice of their bits: n in the bits from b on, up to bit 23, is the float
// n * 2^(b - 149), because the exponents 0 and 1 have the same unit. Elements of x are multiplied
// by 2^(104 - b) in advance ("placed"): a piece's sum of products is then 2^-45 of the one of
// hiptool_file_rows.h, and its step is multiplied by 2^45.
// Powers of two change no rounding if nothing leaves the range of f32, up or down. That holds if
// each x is 0 or has 2^-81 <= |x| < 2^24: all sums are multiples of 2^-104 then, so that the
// smallest is 2^-149 when placed. A token with any other element is not placed.
#pragma once
#include "hiptool_blocks.h"

namespace hiptool_ops {

using namespace hiptool_device;

constexpr float step_of_places = 0x1p45F;

inline __device__ bool can_be_placed(float x) {
  const uint32_t size = __float_as_uint(x) & 0x7FFFFFFFU;
  constexpr uint32_t least = 0x17000000U;  // 2^-81
  constexpr uint32_t end = 0x4B800000U;    // 2^24
  return size == 0 || size - least < end - least;
}

// Tokens whose elements are as they are, and those whose elements can be placed: four numbers are
// the bytes of a word, or nibbles of these, of which every second run of 32 columns has those that
// are `run_bits` up. The fourth byte takes the place of the third: bits from 24 on are exponents.
struct NotPlaced {
  enum : bool { has_places = false };
};
template <unsigned run_bits>
struct PlacedToken {
  enum : bool { has_places = true };

  // Places unit `i` of the token, four elements. Returns whether all of them can be.
  static __forceinline__ __device__ bool put(uint32_t i, float* four) {
    const float first = i / 8 % 2 == 0 ? 0x1p104F : 0x1p104F / (1U << run_bits);
    bool can_be = true;
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      can_be = can_be && can_be_placed(four[k]);
      four[k] = four[k] * (k == 0 ? first : k == 1 ? first * 0x1p-8F : first * 0x1p-16F);
    }
    return can_be;
  }
};

// The bytes of q.
template <bool is_placed>
inline __device__ void byte_numbers(uint32_t q, float* four) {
  if constexpr (is_placed) {
    four[0] = __uint_as_float(q & 0xFFU);
    four[1] = __uint_as_float(q & 0xFF00U);
    four[2] = __uint_as_float(q & 0xFF0000U);
    four[3] = __uint_as_float(hiptool_blocks::chosen_bytes(q, 0, 0x4344U));
  } else {
    hiptool_blocks::numbers_of_bytes(q, 0, four);
  }
}

// The lower (run 0) or upper nibbles of a word's bytes.
template <bool is_placed>
inline __device__ void nibble_numbers(uint32_t word, uint32_t run, float* four) {
  if constexpr (is_placed) {
    const uint32_t later = word >> 8;  // of both runs
    four[0] = __uint_as_float(word & 0xFU << (4 * run));
    four[1] = __uint_as_float(word & 0xF00U << (4 * run));
    four[2] = __uint_as_float(word & 0xF0000U << (4 * run));
    four[3] = __uint_as_float(later & 0xF0000U << (4 * run));
  } else {
    hiptool_blocks::numbers_of_bytes(word >> (4 * run) & 0x0F0F0F0FU, 0, four);
  }
}

}  // namespace hiptool_ops
