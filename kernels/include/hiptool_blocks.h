// SPDX-License-Identifier: MIT
// The blocks of GGUF's quantised types, as ggml defines them (ggml-common.h and ggml-quants.c). A
// value is a step times a number, less a minimum where the type has one: 16 neighbours share both.
// Four neighbouring numbers at a time, because they are the four bytes of a word.
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

// A piece of 16 neighbouring values: those of its numbers times the step, less the minimum. Values
// are rounded once: steps have so few bits that their products with numbers of types that have a
// minimum are exact.
struct Scale {
  float step;
  float minimum;  // 0 where the type has none
};

// Types specialise this: scale() of the 16 values around p.i, and four numbers() from there on.
template <Type type>
struct Block;
struct WithoutMinimum {
  enum : bool { has_minimum = false };
};
struct WithMinimum {
  enum : bool { has_minimum = true };
};

template <Type type>
struct BlockSize;
#define HIPTOOL_QUANTISED(name, text, number, of_values, of_bytes, ...) \
  template <>                                                           \
  struct BlockSize<name> {                                              \
    static constexpr unsigned values = of_values;                       \
    static constexpr unsigned bytes = of_bytes;                         \
  };
#include "hiptool_quantised.def"

// From numbers to values.
template <Type type>
__forceinline__ __device__ void scale_numbers(const Scale& scale, float* four) {
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    if constexpr (!Block<type>::has_minimum) {
      four[k] = scale.step * four[k];
    } else {
#if defined(__CUDA_ARCH__) || defined(__AMDGCN__)
      four[k] = __fmaf_rn(scale.step, four[k], -scale.minimum);
#else
      four[k] = scale.step * four[k] - scale.minimum;
#endif
    }
  }
}
template <Type type>
__forceinline__ __device__ void four_values(const Place& p, float* four) {
  Block<type>::numbers(p, four);
  scale_numbers<type>(Block<type>::scale(p), four);
}

// The bytes of q minus a whole offset.
inline __device__ void numbers_of_bytes(uint32_t q, float offset, float* four) {
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) four[k] = number_of_byte(q, k, offset);
}

// Numbers of four bits, by their places in 128 bits of signed bytes: a table in memory was slower.
struct SixteenBytes {
  uint32_t words[4];
};
inline __device__ void choose_numbers(SixteenBytes table, uint32_t places, float* four) {
#if defined(__CUDA_ARCH__)
  const uint32_t pairs = places | places >> 4;
  const uint32_t selector = chosen_bytes(pairs, 0, 0x4420U);
  const uint32_t low = chosen_bytes(table.words[0], table.words[1], selector & 0x7777U);
  const uint32_t high = chosen_bytes(table.words[2], table.words[3], selector & 0x7777U);
  const uint32_t is_high = chosen_bytes(places << 4, 0, 0xBA98U);
  const uint32_t chosen = (high & is_high) | (low & ~is_high);
  numbers_of_bytes(chosen ^ 0x80808080U, 128, four);
#else
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    const uint32_t place = byte_of(places, k);
    const uint32_t low = (place & 4U) != 0 ? table.words[1] : table.words[0];
    const uint32_t high = (place & 4U) != 0 ? table.words[3] : table.words[2];
    const uint32_t word = (place & 8U) != 0 ? high : low;
    four[k] = static_cast<float>(static_cast<int8_t>(word >> (place % 4 * 8)));
  }
#endif
}

// -127 -104 -83 -65 -49 -35 -22 -10, 1 13 25 38 53 69 89 113
inline __device__ void iq4_numbers(uint32_t places, float* four) {
  choose_numbers({{0xBFAD9881U, 0xF6EADDCFU, 0x26190D01U, 0x71594535U}}, places, four);
}
// E2M1, doubled: 0 1 2 3 4 6 8 12, and the same below 0, where -0 becomes 0.
inline __device__ void fp4_numbers(uint32_t places, float* four) {
  choose_numbers({{0x03020100U, 0x0C080604U, 0xFDFEFF00U, 0xF4F8FAFCU}}, places, four);
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

// The scale of a whole block.
template <unsigned at>
struct WithStepAt : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return {half_at(p.block + at), 0};
  }
};
// The same, and what is added to each value.
struct WithStepAndAddend : WithMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return {half_at(p.block), -half_at(p.block + 2)};
  }
};

template <>
struct Block<q4_0> : WithStepAt<0> {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    numbers_of_bytes(halves<2>(p.block + 2, p.i), 8, four);
  }
};
template <>
struct Block<q4_1> : WithStepAndAddend {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    numbers_of_bytes(halves<4>(p.block + 4, p.i), 0, four);
  }
};

template <unsigned align>
inline __device__ uint32_t q5(const Place& p, uint32_t high_at) {
  const uint32_t high = spread_bits(word_at<align>(p.block + high_at) >> p.i);
  return halves<align>(p.block + high_at + 4, p.i) | high << 4;
}
template <>
struct Block<q5_0> : WithStepAt<0> {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    numbers_of_bytes(q5<2>(p, 2), 16, four);
  }
};
template <>
struct Block<q5_1> : WithStepAndAddend {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    numbers_of_bytes(q5<4>(p, 4), 0, four);
  }
};

template <>
struct Block<q8_0> : WithStepAt<0> {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    numbers_of_bytes(word_at<2>(p.block + 2 + p.i) ^ 0x80808080U, 128, four);
  }
};

template <>
struct Block<q2_k> : WithMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    const uint32_t packed = p.block[p.i / 16];
    return {half_at(p.block + 80) * number(packed & 15U),
            half_at(p.block + 82) * number(packed >> 4)};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    numbers_of_bytes(quarters<4>(p.block + 16, p.i), 0, four);
  }
};

template <>
struct Block<q3_k> : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    const uint8_t* const scales = p.block + 96;
    const uint32_t s = p.i / 16;
    const uint32_t low = scales[s % 8] >> (s / 8 * 4) & 15U;
    const uint32_t high = scales[8 + s % 4] >> (s / 4 * 2) & 3U;
    return {half_at(p.block + 108) * signed_number(low | high << 4, 32), 0};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t fours = word_at<2>(p.block + p.i % 32) >> (p.i / 32) & 0x01010101U;
    numbers_of_bytes(quarters<2>(p.block + 32, p.i) | fours << 2, 4, four);
  }
};

// Q4_K and Q5_K: eight scales and eight minima of 6 bits each, after the two that they multiply; 32
// values share one of each.
struct WithScalesOfK : WithMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    const uint4 header = *reinterpret_cast<const uint4*>(p.block);
    // The upper two bits of the later four are in the first bytes, the other bits in the last word.
    // Without a branch, so that loads of several blocks are in flight together.
    const uint32_t is_late = p.i / 128 % 2;
    const uint32_t late = 0 - is_late;
    const uint32_t at = p.i / 32 % 4 * 8;
    const uint32_t first = (header.y & ~late) | (header.w & late);
    const uint32_t second = (header.z & ~late) | (header.w & late);
    const uint32_t upper = at + 2 * is_late;
    const uint32_t step = (first >> at & 15U) | (header.y >> upper & 48U);
    const uint32_t least = (second >> (at + 4 * is_late) & 15U) | (header.z >> upper & 48U);
    return {f16_to_value(static_cast<uint16_t>(header.x)) * number(step),
            f16_to_value(static_cast<uint16_t>(header.x >> 16)) * number(least)};
  }
};

inline __device__ uint32_t k_nibbles(const Place& p, uint32_t at) {
  const uint32_t word = word_at<4>(p.block + at + p.i / 64 * 32 + p.i % 32);
  return word >> (p.i / 32 % 2 * 4) & 0x0F0F0F0FU;
}
template <>
struct Block<q4_k> : WithScalesOfK {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    numbers_of_bytes(k_nibbles(p, 16), 0, four);
  }
};
template <>
struct Block<q5_k> : WithScalesOfK {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t high = word_at<4>(p.block + 16 + p.i % 32) >> (p.i / 32) & 0x01010101U;
    numbers_of_bytes(k_nibbles(p, 48) | high << 4, 0, four);
  }
};

template <>
struct Block<q6_k> : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    const auto own = static_cast<int8_t>(p.block[192 + p.i / 16]);
    return {half_at(p.block + 208) * static_cast<float>(own), 0};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t j = p.i % 128;
    const uint32_t word = word_at<2>(p.block + p.i / 128 * 64 + j % 64);
    const uint32_t q = (word >> (j / 64 * 4) & 0x0F0F0F0FU) | quarters<2>(p.block + 128, p.i) << 4;
    numbers_of_bytes(q, 32, four);
  }
};

// Five values per byte, as digits of a fraction in base 3.
template <>
struct Block<tq1_0> : WithStepAt<52> {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
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
    numbers_of_bytes(q, 1, four);
  }
};
template <>
struct Block<tq2_0> : WithStepAt<64> {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    numbers_of_bytes(quarters<2>(p.block, p.i), 1, four);
  }
};

// Half of 2^(e - 127): the codes of fp4 are twice their numbers.
inline __device__ float half_of_exponent(uint32_t e) {
  return __uint_as_float(e < 2 ? 0x00200000U << e : (e - 1) << 23);
}
template <>
struct Block<mxfp4> : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return {half_of_exponent(p.block[0]), 0};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    fp4_numbers(halves<1>(p.block + 1, p.i), four);
  }
};

// Half of a scale of NVFP4.
inline __device__ float half_of_ue4m3(uint32_t code) {
  const uint32_t exponent = code >> 3 & 15U;
  const uint32_t fraction = code & 7U;
  // Normal numbers have the bits of a binary32 whose exponent is 120 larger; one less for the half.
  float scale = __uint_as_float((exponent + 119) << 23 | fraction << 20);
  if (exponent == 0) scale = number(fraction) * 0x1p-10F;
  return code == 0x7FU ? 0 : scale;
}
template <>
struct Block<nvfp4> : WithoutMinimum {
  static __forceinline__ __device__ Scale scale(const Place& p) {
    return {half_of_ue4m3(p.block[p.i / 16]), 0};
  }
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t k = p.i % 16;
    const uint32_t word = word_at<4>(p.block + 4 + p.i / 16 * 8 + k % 8);
    fp4_numbers(word >> (k / 8 * 4) & 0x0F0F0F0FU, four);
  }
};

// A bit is the sign: 0 for -scale, 1 for +scale.
template <>
struct Block<q1_0> : WithStepAt<0> {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    const uint32_t bits = p.block[2 + p.i / 8] >> (p.i % 8);
    numbers_of_bytes(spread_bits(bits) << 1, 1, four);
  }
};
template <>
struct Block<q2_0> : WithStepAt<0> {
  static __forceinline__ __device__ void numbers(const Place& p, float* four) {
    numbers_of_bytes(spread_pairs(p.block[2 + p.i / 4]), 1, four);
  }
};

}  // namespace hiptool_blocks
