// SPDX-License-Identifier: MIT
// The blocks of GGUF's quantised types, bit for bit as ggml defines them (ggml-common.h and
// ggml-quants.c): every operation rounds at the same place. Four neighbouring values at a time:
// their scale is found once, and their packed numbers are the four bytes of a word.
#pragma once
#include "hiptool_device.h"

namespace hiptool_blocks {

using namespace hiptool_device;

enum Type : uint32_t {
#define HIPTOOL_QUANTISED(name, text, number, ...) name = number,
#include "hiptool_quantised.def"
};

// Offsets of the grids of these types in the table passed by the host.
constexpr uint32_t iq2_xxs_grid = 0;
constexpr uint32_t iq2_xs_grid = 256;
constexpr uint32_t iq2_s_grid = 768;
constexpr uint32_t iq3_xxs_grid = 1792;
constexpr uint32_t iq3_s_grid = 2048;
constexpr uint32_t iq1_grid = 2560;

struct Place {
  const uint8_t* block;
  const uint16_t* grids;
  uint32_t i;  // of the first of four values in the block, a multiple of 4
};

// Four bytes at an address that is a multiple of `align`. Devices other than NVIDIA's load them at
// any address in one access.
template <unsigned align>
inline __device__ uint32_t word_at(const uint8_t* at) {
#if defined(__CUDA_ARCH__)
  if constexpr (align % 4 == 0) {
    return *reinterpret_cast<const uint32_t*>(at);
  } else if constexpr (align % 2 == 0) {
    const uint16_t* const halves = reinterpret_cast<const uint16_t*>(at);
    return halves[0] | static_cast<uint32_t>(halves[1]) << 16;
  } else {
    return read_32(at);
  }
#else
  uint32_t word;
  __builtin_memcpy(&word, at, sizeof word);
  return word;
#endif
}

inline __device__ uint16_t bits_16(const uint8_t* at) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const uint16_t*>(at);
#else
  uint16_t bits;
  __builtin_memcpy(&bits, at, sizeof bits);
  return bits;
#endif
}
inline __device__ float half_at(const uint8_t* at) { return f16_to_value(bits_16(at)); }

#if defined(__CUDA_ARCH__)
// Four of the eight bytes of low and high, by the lower three bits of the selector's nibbles; one
// whose fourth bit is set gives eight times the byte's highest bit.
inline __device__ uint32_t chosen_bytes(uint32_t low, uint32_t high, uint32_t selector) {
  uint32_t chosen;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(chosen) : "r"(low), "r"(high), "r"(selector));
  return chosen;
}
#else
inline __device__ uint32_t chosen_bytes(uint32_t low, uint32_t high, uint32_t selector) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  uint32_t chosen = 0;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    const uint32_t place = selector >> (4 * k);
    const auto byte = static_cast<uint32_t>(both >> (place % 8 * 8)) & 255U;
    chosen |= ((place & 8U) != 0 ? (byte >> 7) * 255U : byte) << (8 * k);
  }
  return chosen;
}
#endif

// NVIDIA converts whole numbers at a fourth of the rate at which it subtracts: there 2^23, whose
// last bit is 1, takes the number's place, and the difference is exact.
inline __device__ float number(uint32_t value) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(0x4B000000U | value) - 0x1p23F;
#else
  return static_cast<float>(value);
#endif
}
inline __device__ float signed_number(uint32_t value, int offset) {
  return static_cast<float>(static_cast<int>(value) - offset);
}

inline __device__ uint32_t byte_of(uint32_t word, uint32_t k) { return word >> (8 * k) & 255U; }

// Byte k of q minus a whole offset.
inline __device__ float number_of_byte(uint32_t q, uint32_t k, float offset = 0) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(chosen_bytes(q, 0x4B000000U, 0x7440U | k)) - (0x1p23F + offset);
#else
  return static_cast<float>(byte_of(q, k)) - offset;
#endif
}

// Byte k of q, of at most 7 bits, and 128: bits of a binary32 without an instruction but the
// choice.
inline __device__ float number_from_128(uint32_t q, uint32_t k) {
  return __uint_as_float(chosen_bytes(q, 0x43000000U, 0x7044U | k << 8));
}
// Byte k of q, of 8 bits, and 32768.
inline __device__ float number_from_32768(uint32_t q, uint32_t k) {
  return __uint_as_float(chosen_bytes(q, 0x47000000U, 0x7404U | k << 4));
}

// The bytes of q minus a whole offset, times a scale.
inline __device__ void scale_bytes(uint32_t q, float scale, float offset, float* four) {
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) four[k] = scale * number_of_byte(q, k, offset);
}
// Scales have so few bits that their products with the bytes, of 5 bits, are exact.
inline __device__ void scale_and_add(uint32_t q, float scale, float added, float* four) {
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__)
    four[k] = __fmaf_rn(scale, number_of_byte(q, k), added);
#else
    four[k] = scale * number_of_byte(q, k) + added;
#endif
  }
}
inline __device__ void scale_and_subtract(uint32_t q, float scale, float taken, float* four) {
  scale_and_add(q, scale, -taken, four);
}

// Numbers of four bits, by their places in 128 bits of signed bytes: a table in memory was slower.
struct SixteenBytes {
  uint32_t words[4];
};
inline __device__ void scale_chosen(SixteenBytes table, uint32_t places, float scale, float* four) {
#if defined(__CUDA_ARCH__)
  const uint32_t pairs = places | places >> 4;
  const uint32_t selector = chosen_bytes(pairs, 0, 0x4420U);
  const uint32_t low = chosen_bytes(table.words[0], table.words[1], selector & 0x7777U);
  const uint32_t high = chosen_bytes(table.words[2], table.words[3], selector & 0x7777U);
  const uint32_t is_high = chosen_bytes(places << 4, 0, 0xBA98U);
  const uint32_t chosen = (high & is_high) | (low & ~is_high);
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    four[k] = scale * number_of_byte(chosen ^ 0x80808080U, k, 128);
  }
#else
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    const uint32_t place = byte_of(places, k);
    const uint32_t low = (place & 4U) != 0 ? table.words[1] : table.words[0];
    const uint32_t high = (place & 4U) != 0 ? table.words[3] : table.words[2];
    const uint32_t word = (place & 8U) != 0 ? high : low;
    four[k] = scale * static_cast<float>(static_cast<int8_t>(word >> (place % 4 * 8)));
  }
#endif
}

// -127 -104 -83 -65 -49 -35 -22 -10, 1 13 25 38 53 69 89 113
inline __device__ void scale_iq4(uint32_t places, float scale, float* four) {
  scale_chosen({{0xBFAD9881U, 0xF6EADDCFU, 0x26190D01U, 0x71594535U}}, places, scale, four);
}
// E2M1, doubled: 0 1 2 3 4 6 8 12, and the same below 0, where -0 becomes 0.
inline __device__ void scale_fp4(uint32_t places, float scale, float* four) {
  scale_chosen({{0x03020100U, 0x0C080604U, 0xFDFEFF00U, 0xF4F8FAFCU}}, places, scale, four);
}

// Nibble n of bytes, the lower one first.
inline __device__ uint32_t nibble(const uint8_t* bytes, uint32_t n) {
  return bytes[n / 2] >> (n % 2 * 4) & 15U;
}
// Four bits or four pairs of bits, each in a byte of its own.
inline __device__ uint32_t spread_bits(uint32_t four_bits) {
  return (four_bits & 15U) * 0x00204081U & 0x01010101U;
}
inline __device__ uint32_t spread_pairs(uint32_t byte) {
  const uint32_t nibbles = (byte | byte << 12) & 0x000F000FU;
  return (nibbles | nibbles << 6) & 0x03030303U;
}
// Of 16 bytes: first all lower nibbles, then all upper ones.
template <unsigned align>
inline __device__ uint32_t halves(const uint8_t* bytes, uint32_t i) {
  return word_at<align>(bytes + i % 16) >> (i / 16 * 4) & 0x0F0F0F0FU;
}
// Of 128 2-bit values in 32 bytes, first the lowest bits of all bytes.
template <unsigned align>
inline __device__ uint32_t quarters(const uint8_t* bytes, uint32_t i) {
  return word_at<align>(bytes + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 0x03030303U;
}

inline __device__ void q4_0_values(const Place& p, float* four) {
  scale_bytes(halves<2>(p.block + 2, p.i), half_at(p.block), 8, four);
}
inline __device__ void q4_1_values(const Place& p, float* four) {
  scale_and_add(halves<4>(p.block + 4, p.i), half_at(p.block), half_at(p.block + 2), four);
}

template <unsigned align>
inline __device__ uint32_t q5(const Place& p, uint32_t high_at) {
  const uint32_t high = spread_bits(word_at<align>(p.block + high_at) >> p.i);
  return halves<align>(p.block + high_at + 4, p.i) | high << 4;
}
inline __device__ void q5_0_values(const Place& p, float* four) {
  scale_bytes(q5<2>(p, 2), half_at(p.block), 16, four);
}
inline __device__ void q5_1_values(const Place& p, float* four) {
  scale_and_add(q5<4>(p, 4), half_at(p.block), half_at(p.block + 2), four);
}

inline __device__ void q8_0_values(const Place& p, float* four) {
  const uint32_t q = word_at<2>(p.block + 2 + p.i);
  const float scale = half_at(p.block);
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    four[k] = scale * number_of_byte(q ^ 0x80808080U, k, 128);
  }
}

inline __device__ void q2_k_values(const Place& p, float* four) {
  const uint32_t scale = p.block[p.i / 16];
  const float step = half_at(p.block + 80) * number(scale & 15U);
  const float minimum = half_at(p.block + 82) * number(scale >> 4);
  scale_and_subtract(quarters<4>(p.block + 16, p.i), step, minimum, four);
}

inline __device__ void q3_k_values(const Place& p, float* four) {
  const uint8_t* const scales = p.block + 96;
  const uint32_t s = p.i / 16;
  const uint32_t low = scales[s % 8] >> (s / 8 * 4) & 15U;
  const uint32_t high = scales[8 + s % 4] >> (s / 4 * 2) & 3U;
  const uint32_t fours = word_at<2>(p.block + p.i % 32) >> (p.i / 32) & 0x01010101U;
  const float scale = half_at(p.block + 108) * signed_number(low | high << 4, 32);
  scale_bytes(quarters<2>(p.block + 32, p.i) | fours << 2, scale, 4, four);
}

// Q4_K and Q5_K: eight scales and eight minima of 6 bits each, after the two that they multiply; 32
// values share one of each.
struct ScaleOfK {
  float step;
  float minimum;

  __forceinline__ __device__ explicit ScaleOfK(const Place& p) {
    const uint4 header = *reinterpret_cast<const uint4*>(p.block);
    // The upper two bits of the later four are in the first bytes, the other bits in the last word.
    // Without a branch, so that loads of several blocks are in flight together.
    const uint32_t is_late = p.i / 128 % 2;
    const uint32_t late = 0 - is_late;
    const uint32_t at = p.i / 32 % 4 * 8;
    const uint32_t first = (header.y & ~late) | (header.w & late);
    const uint32_t second = (header.z & ~late) | (header.w & late);
    const uint32_t upper = at + 2 * is_late;
    const uint32_t scale = (first >> at & 15U) | (header.y >> upper & 48U);
    const uint32_t least = (second >> (at + 4 * is_late) & 15U) | (header.z >> upper & 48U);
    step = f16_to_value(static_cast<uint16_t>(header.x)) * number(scale);
    minimum = f16_to_value(static_cast<uint16_t>(header.x >> 16)) * number(least);
  }
};
inline __device__ void scale_k(const Place& p, uint32_t q, float* four) {
  const ScaleOfK scale(p);
  scale_and_subtract(q, scale.step, scale.minimum, four);
}

inline __device__ uint32_t k_nibbles(const Place& p, uint32_t at) {
  const uint32_t word = word_at<4>(p.block + at + p.i / 64 * 32 + p.i % 32);
  return word >> (p.i / 32 % 2 * 4) & 0x0F0F0F0FU;
}
inline __device__ void q4_k_values(const Place& p, float* four) {
  scale_k(p, k_nibbles(p, 16), four);
}
inline __device__ void q5_k_values(const Place& p, float* four) {
  const uint32_t high = word_at<4>(p.block + 16 + p.i % 32) >> (p.i / 32) & 0x01010101U;
  scale_k(p, k_nibbles(p, 48) | high << 4, four);
}

inline __device__ void q6_k_values(const Place& p, float* four) {
  const uint32_t j = p.i % 128;
  const uint32_t word = word_at<2>(p.block + p.i / 128 * 64 + j % 64);
  const uint32_t q = (word >> (j / 64 * 4) & 0x0F0F0F0FU) | quarters<2>(p.block + 128, p.i) << 4;
  const int8_t scale = static_cast<int8_t>(p.block[192 + p.i / 16]);
  scale_bytes(q, half_at(p.block + 208) * static_cast<float>(scale), 32, four);
}

// Five values per byte, as digits of a fraction in base 3.
inline __device__ void tq1_0_values(const Place& p, float* four) {
  uint32_t at = p.i % 32;
  uint32_t digit = p.i / 32;
  if (p.i >= 240) {
    at = 48;
    digit = (p.i - 240) / 4;
  } else if (p.i >= 160) {
    at = 32 + p.i % 16;
    digit = (p.i - 160) / 16;
  }
  const uint32_t word = word_at<2>(p.block + at);
  // 3 to the power of the digit, of which the fraction's lower 8 bits are wanted.
  const uint32_t power = digit == 4 ? 81U : 0x1B090301U >> (8 * digit) & 255U;
  uint32_t q = 0;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    q |= ((byte_of(word, k) * power & 255U) * 3 >> 8) << (8 * k);
  }
  scale_bytes(q, half_at(p.block + 52), 1, four);
}
inline __device__ void tq2_0_values(const Place& p, float* four) {
  scale_bytes(quarters<2>(p.block, p.i), half_at(p.block + 64), 1, four);
}

// Half of 2^(e - 127): the codes of fp4 are twice their numbers.
inline __device__ float half_of_exponent(uint32_t e) {
  return __uint_as_float(e < 2 ? 0x00200000U << e : (e - 1) << 23);
}
inline __device__ void mxfp4_values(const Place& p, float* four) {
  scale_fp4(halves<1>(p.block + 1, p.i), half_of_exponent(p.block[0]), four);
}

// Half of a scale of NVFP4.
inline __device__ float half_of_ue4m3(uint32_t code) {
  const uint32_t exponent = code >> 3 & 15U;
  const uint32_t fraction = code & 7U;
  // Normal numbers have the bits of a binary32 whose exponent is 120 larger; one less for the half.
  float scale = __uint_as_float((exponent + 119) << 23 | fraction << 20);
  if (exponent == 0) scale = number(fraction) * 0x1p-10F;
  return code == 0x7FU ? 0 : scale;
}
inline __device__ void nvfp4_values(const Place& p, float* four) {
  const float scale = half_of_ue4m3(p.block[p.i / 16]);
  const uint32_t k = p.i % 16;
  const uint32_t word = word_at<4>(p.block + 4 + p.i / 16 * 8 + k % 8);
  scale_fp4(word >> (k / 8 * 4) & 0x0F0F0F0FU, scale, four);
}

// There are 128 patterns of eight signs: the last sign makes their number even.
inline __device__ uint32_t even_signs(uint32_t signs) {
  uint32_t parity = signs ^ signs >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return signs | (parity & 1U) << 7;
}
// The bytes of q with the signs of four bits, times a scale.
inline __device__ void scale_signed(uint32_t q, uint32_t signs, float scale, float* four) {
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    const uint32_t size = __float_as_uint(number(byte_of(q, k)));
    four[k] = scale * __uint_as_float(size ^ (signs >> k & 1U) << 31);
  }
}

inline __device__ void scale_iq2(const Place& p, uint32_t scale, uint32_t index, uint32_t signs,
                                 float* four) {
  const uint32_t codes = p.grids[index] >> (p.i % 8 * 2);
  uint32_t q = 0;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    q |= (0x2B2B1908U >> ((codes >> (2 * k) & 3U) * 8) & 255U) << (8 * k);  // 8, 25 or 43
  }
  scale_signed(q, signs >> (p.i % 8), half_at(p.block) * (0.5F + number(scale)) * 0.25F, four);
}
inline __device__ void iq2_xxs_values(const Place& p, float* four) {
  const uint32_t part = p.i / 8 % 4;
  const uint8_t* const group = p.block + 2 + p.i / 32 * 8;
  const uint32_t packed = word_at<2>(group + 4);
  scale_iq2(p, packed >> 28, iq2_xxs_grid + group[part], even_signs(packed >> (part * 7) & 127U),
            four);
}
inline __device__ void iq2_xs_values(const Place& p, float* four) {
  const uint32_t q = bits_16(p.block + 2 + p.i / 8 * 2);
  scale_iq2(p, nibble(p.block + 66, p.i / 16), iq2_xs_grid + (q & 511U), even_signs(q >> 9), four);
}
inline __device__ void iq2_s_values(const Place& p, float* four) {
  const uint32_t at = p.i / 8;
  const uint32_t high = p.block[66 + p.i / 32] >> (at % 4 * 2) & 3U;
  scale_iq2(p, nibble(p.block + 74, p.i / 16), iq2_s_grid + (p.block[2 + at] | high << 8),
            p.block[34 + at], four);
}

// Four nibbles of the table, each in a byte of its own.
inline __device__ uint32_t iq3_grid(const Place& p, uint32_t index) {
  const uint32_t nibbles = p.grids[index];
  const uint32_t bytes = (nibbles | nibbles << 8) & 0x00FF00FFU;
  return (bytes | bytes << 4) & 0x0F0F0F0FU;
}

// The values are 8 n + 4 for n of the table, except that the largest is 62.
inline __device__ void iq3_xxs_values(const Place& p, float* four) {
  const uint32_t packed = word_at<2>(p.block + 66 + p.i / 32 * 4);
  const float scale = half_at(p.block) * (0.5F + number(packed >> 28)) * 0.5F;
  const uint32_t n = iq3_grid(p, iq3_xxs_grid + p.block[2 + p.i / 4]);
  // 60 becomes 62 where all three bits of n are set.
  const uint32_t is_seven = n & n >> 1 & n >> 2 & 0x01010101U;
  const uint32_t signs = even_signs(packed >> (p.i / 8 % 4 * 7) & 127U) >> (p.i % 8);
  scale_signed((n << 3 | 0x04040404U) + (is_seven << 1), signs, scale, four);
}
inline __device__ void iq3_s_values(const Place& p, float* four) {
  const uint32_t high = p.block[66 + p.i / 32] >> (p.i / 4 % 8) & 1U;
  const uint32_t index = iq3_s_grid + (p.block[2 + p.i / 4] | high << 8);
  const float scale = half_at(p.block) * number(1 + 2 * nibble(p.block + 106, p.i / 32));
  scale_signed(iq3_grid(p, index), p.block[74 + p.i / 8] >> (p.i % 8), scale, four);
}

inline __device__ void scale_iq1(const Place& p, float scale, uint32_t index, bool is_below,
                                 float* four) {
  const uint32_t q = spread_pairs(p.grids[iq1_grid + index] >> (p.i % 8 * 2) & 255U);
  const float offset = is_below ? 1.125F : 0.875F;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) four[k] = scale * (number(byte_of(q, k)) - offset);
}
inline __device__ void iq1_s_values(const Place& p, float* four) {
  const uint32_t high = bits_16(p.block + 34 + p.i / 32 * 2);
  const uint32_t at = p.i / 8;
  const uint32_t index = p.block[2 + at] | (high >> (at % 4 * 3) & 7U) << 8;
  const float scale = half_at(p.block) * number(2 * (high >> 12 & 7U) + 1);
  scale_iq1(p, scale, index, (high & 0x8000U) != 0, four);
}
inline __device__ void iq1_m_values(const Place& p, float* four) {
  const uint8_t* const scales = p.block + 48;
  // The upper nibbles of every second byte.
  const uint32_t low = word_at<4>(scales);
  const uint32_t high = word_at<4>(scales + 4);
  const uint32_t d = (low >> 12 & 0x000FU) | (low >> 24 & 0x00F0U) | (high >> 4 & 0x0F00U) |
                     (high >> 16 & 0xF000U);
  const uint32_t scale = bits_16(scales + p.i / 64 * 2) >> (p.i / 16 % 4 * 3) & 7U;
  const uint32_t more = nibble(p.block + 32, p.i / 8);
  const uint32_t index = p.block[p.i / 8] | (more & 7U) << 8;
  const float step = f16_to_value(static_cast<uint16_t>(d)) * number(2 * scale + 1);
  scale_iq1(p, step, index, (more & 8U) != 0, four);
}

inline __device__ void iq4_nl_values(const Place& p, float* four) {
  scale_iq4(halves<2>(p.block + 2, p.i), half_at(p.block), four);
}
inline __device__ void iq4_xs_values(const Place& p, float* four) {
  const uint32_t g = p.i / 32;
  const uint32_t high = bits_16(p.block + 2) >> (2 * g) & 3U;
  const float scale = half_at(p.block) * signed_number(nibble(p.block + 4, g) | high << 4, 32);
  scale_iq4(halves<4>(p.block + 8 + g * 16, p.i % 32), scale, four);
}

// A bit is the sign: 0 for -scale, 1 for +scale.
inline __device__ void q1_0_values(const Place& p, float* four) {
  const uint32_t bits = p.block[2 + p.i / 8] >> (p.i % 8);
  scale_bytes(spread_bits(bits) << 1, half_at(p.block), 1, four);
}
inline __device__ void q2_0_values(const Place& p, float* four) {
  scale_bytes(spread_pairs(p.block[2 + p.i / 4]), half_at(p.block), 1, four);
}

}  // namespace hiptool_blocks
