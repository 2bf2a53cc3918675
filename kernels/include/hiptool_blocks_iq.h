// SPDX-License-Identifier: MIT
// The blocks of GGUF's types whose numbers come from tables (IQ..), as hiptool_blocks.h.
#pragma once
#include "hiptool_blocks.h"

namespace hiptool_blocks {

// There are 128 patterns of eight signs: the last sign makes their number even.
inline __device__ uint32_t even_signs(uint32_t signs) {
  uint32_t parity = signs ^ signs >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return signs | (parity & 1U) << 7;
}
// The bytes of q with the signs of four bits.
inline __device__ void signed_numbers(uint32_t q, uint32_t signs, float* four) {
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    const uint32_t size = __float_as_uint(number(byte_of(q, k)));
    four[k] = __uint_as_float(size ^ (signs >> k & 1U) << 31);
  }
}

inline __device__ Scale iq2_scale(const Place& p, uint32_t scale) {
  return {half_at(p.block) * (0.5F + number(scale)) * 0.25F, 0};
}
inline __device__ void iq2_numbers(const Place& p, uint32_t index, uint32_t signs, float* four) {
  const uint32_t codes = p.grids[index] >> (p.i % 8 * 2);
  uint32_t q = 0;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    q |= (0x2B2B1908U >> ((codes >> (2 * k) & 3U) * 8) & 255U) << (8 * k);  // 8, 25 or 43
  }
  signed_numbers(q, signs >> (p.i % 8), four);
}
template <>
struct Block<iq2_xxs> : WithoutMinimum {
  static __forceinline__ __device__ uint32_t packed(const Place& p) {
    return word_at<2>(p.block + 6 + p.i / 32 * 8);
  }
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return iq2_scale(p, packed(p) >> 28);
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t part = p.i / 8 % 4;
    iq2_numbers(p, iq2_xxs_grid + p.block[2 + p.i / 32 * 8 + part],
                even_signs(packed(p) >> (part * 7) & 127U), four);
  }
};
template <>
struct Block<iq2_xs> : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return iq2_scale(p, nibble(p.block + 66, p.i / 16));
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t q = bits_16(p.block + 2 + p.i / 8 * 2);
    iq2_numbers(p, iq2_xs_grid + (q & 511U), even_signs(q >> 9), four);
  }
};
template <>
struct Block<iq2_s> : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return iq2_scale(p, nibble(p.block + 74, p.i / 16));
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t at = p.i / 8;
    const uint32_t high = p.block[66 + p.i / 32] >> (at % 4 * 2) & 3U;
    iq2_numbers(p, iq2_s_grid + (p.block[2 + at] | high << 8), p.block[34 + at], four);
  }
};

// Four nibbles of the table, each in a byte of its own.
inline __device__ uint32_t iq3_grid(const Place& p, uint32_t index) {
  const uint32_t nibbles = p.grids[index];
  const uint32_t bytes = (nibbles | nibbles << 8) & 0x00FF00FFU;
  return (bytes | bytes << 4) & 0x0F0F0F0FU;
}

// The numbers are 8 n + 4 for n of the table, except that the largest is 62.
template <>
struct Block<iq3_xxs> : WithoutMinimum {
  static __forceinline__ __device__ uint32_t packed(const Place& p) {
    return word_at<2>(p.block + 66 + p.i / 32 * 4);
  }
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return {half_at(p.block) * (0.5F + number(packed(p) >> 28)) * 0.5F, 0};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t n = iq3_grid(p, iq3_xxs_grid + p.block[2 + p.i / 4]);
    // 60 becomes 62 where all three bits of n are set.
    const uint32_t is_seven = n & n >> 1 & n >> 2 & 0x01010101U;
    const uint32_t signs = even_signs(packed(p) >> (p.i / 8 % 4 * 7) & 127U) >> (p.i % 8);
    signed_numbers((n << 3 | 0x04040404U) + (is_seven << 1), signs, four);
  }
};
template <>
struct Block<iq3_s> : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return {half_at(p.block) * number(1 + 2 * nibble(p.block + 106, p.i / 32)), 0};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t high = p.block[66 + p.i / 32] >> (p.i / 4 % 8) & 1U;
    const uint32_t index = iq3_s_grid + (p.block[2 + p.i / 4] | high << 8);
    signed_numbers(iq3_grid(p, index), p.block[74 + p.i / 8] >> (p.i % 8), four);
  }
};

inline __device__ void iq1_numbers(const Place& p, uint32_t index, bool is_below, float* four) {
  const uint32_t q = spread_pairs(p.grids[iq1_grid + index] >> (p.i % 8 * 2) & 255U);
  const float offset = is_below ? 1.125F : 0.875F;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) four[k] = number(byte_of(q, k)) - offset;
}
template <>
struct Block<iq1_s> : WithoutMinimum {
  static __forceinline__ __device__ uint32_t high(const Place& p) {
    return bits_16(p.block + 34 + p.i / 32 * 2);
  }
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return {half_at(p.block) * number(2 * (high(p) >> 12 & 7U) + 1), 0};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t at = p.i / 8;
    const uint32_t index = p.block[2 + at] | (high(p) >> (at % 4 * 3) & 7U) << 8;
    iq1_numbers(p, index, (high(p) & 0x8000U) != 0, four);
  }
};
template <>
struct Block<iq1_m> : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    const uint8_t* const scales = p.block + 48;
    // The upper nibbles of every second byte.
    const uint32_t low = word_at<4>(scales);
    const uint32_t high = word_at<4>(scales + 4);
    const uint32_t d = (low >> 12 & 0x000FU) | (low >> 24 & 0x00F0U) | (high >> 4 & 0x0F00U) |
                       (high >> 16 & 0xF000U);
    const uint32_t scale = bits_16(scales + p.i / 64 * 2) >> (p.i / 16 % 4 * 3) & 7U;
    return {f16_to_value(static_cast<uint16_t>(d)) * number(2 * scale + 1), 0};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t more = nibble(p.block + 32, p.i / 8);
    iq1_numbers(p, p.block[p.i / 8] | (more & 7U) << 8, (more & 8U) != 0, four);
  }
};

template <>
struct Block<iq4_nl> : WithStepAt<0> {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    iq4_numbers(halves<2>(p.block + 2, p.i), four);
  }
};
template <>
struct Block<iq4_xs> : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    const uint32_t g = p.i / 32;
    const uint32_t high = bits_16(p.block + 2) >> (2 * g) & 3U;
    return {half_at(p.block) * signed_number(nibble(p.block + 4, g) | high << 4, 32), 0};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    iq4_numbers(halves<4>(p.block + 8 + p.i / 32 * 16, p.i % 32), four);
  }
};

}  // namespace hiptool_blocks
