// SPDX-License-Identifier: MIT
// Stretches of the types whose blocks have 32 columns, of four bits each, and of NVFP4, whose
// blocks have 64 in groups of 16: both nibbles of a byte are unpacked together.
#pragma once
#include "hiptool_stretches.h"

namespace hiptool_ops {

// 16 bytes at a multiple of `align`, by the one or two aligned units that have some of them: up to
// 15 bytes past them are read too (see type_of_memory).
template <unsigned align>
struct PlacedBytes {
  uint4 units[2];
  uint32_t past;

  __forceinline__ __device__ void load(const uint8_t* from) {
    past = static_cast<uint32_t>(reinterpret_cast<uint64_t>(from) % 16);
    const auto* const first = reinterpret_cast<const uint4*>(from - past);
    units[0] = load_unit(first);
    units[1] = load_unit(first + (past + 15) / 16);
  }
  // By masks, as EvenBytes.
  __forceinline__ __device__ void words(uint32_t* four) const {
    EightWords all = words_of(units[0], units[1]);
    const uint32_t second = 0 - (past >> 3 & 1U);
    const uint32_t odd = 0 - (past >> 2 & 1U);
    const uint32_t bits = past % 4 * 8;
#pragma unroll
    for (uint32_t j = 0; j < 6; ++j) all.at[j] = (all.at[j + 2] & second) | (all.at[j] & ~second);
#pragma unroll
    for (uint32_t j = 0; j < 5; ++j) all.at[j] = (all.at[j + 1] & odd) | (all.at[j] & ~odd);
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      const uint64_t pair = static_cast<uint64_t>(all.at[j + 1]) << 32 | all.at[j];
      four[j] = align % 4 == 0 ? all.at[j] : static_cast<uint32_t>(pair >> bits);
    }
  }
};

// A byte for each of a word's eight nibbles, four in a word: first those that were lower nibbles of
// a byte, then those that were upper ones.
struct NibbleBytes {
  uint32_t words[2];
};

// The highest bit of each nibble in that of its byte.
__forceinline__ __device__ uint32_t nibble_signs(uint32_t nibbles, unsigned half) {
  return hiptool_blocks::chosen_bytes(nibbles << 4, nibbles, half == 0 ? 0x5140U : 0x7362U);
}

// The same bit in all of them.
__forceinline__ __device__ uint32_t nibble_masks(uint32_t nibbles, unsigned half) {
  return hiptool_blocks::chosen_bytes(nibbles << 4, nibbles, half == 0 ? 0xD9C8U : 0xFBEAU);
}

// E2M1, doubled, as the upper bytes of f16: 0 1 2 3 4 6 8 12, and the same below 0.
__forceinline__ __device__ NibbleBytes fp4_bytes(uint32_t nibbles) {
  const uint32_t places = nibbles & 0x77777777U;
  NibbleBytes bytes;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    bytes.words[half] =
        hiptool_blocks::chosen_bytes(0x42403C00U, 0x4A484644U, places >> (16 * half)) |
        (nibble_signs(nibbles, half) & 0x80808080U);
  }
  return bytes;
}

// The numbers of those bytes that were lower (run 0) or upper nibbles.
__forceinline__ __device__ void fp4_numbers(const NibbleBytes& bytes, uint32_t run, float* four) {
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const uint32_t pair =
        hiptool_blocks::chosen_bytes(bytes.words[half], 0, run == 0 ? 0x2404U : 0x3414U);
    four[2 * half] = f16_to_value(static_cast<uint16_t>(pair));
    four[2 * half + 1] = f16_to_value(static_cast<uint16_t>(pair >> 16));
  }
}

// What stretches of two blocks need of a type: what is in front of its nibbles, and the numbers of
// four columns from `place` on, which are in a word's lower or upper nibbles.
struct Mxfp4Scale {
  uint8_t exponent;
  using Opened = float;

  __forceinline__ __device__ void load(const uint8_t* block) { exponent = block[0]; }
  __forceinline__ __device__ Opened open() const {
    return hiptool_blocks::half_of_exponent(exponent);
  }
  // What is added makes 0 of -0, and changes no other product.
  static __forceinline__ __device__ void values(uint32_t nibbles, uint32_t place, Opened scale,
                                                float* four) {
    fp4_numbers(fp4_bytes(nibbles), place / 16, four);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) four[k] = __fmaf_rn(four[k], scale, 0.0F);
  }
};

__forceinline__ __device__ uint32_t nibbles_at(uint32_t nibbles, uint32_t place) {
  return nibbles >> (place / 16 * 4) & 0x0F0F0F0FU;
}

struct HalfScale {
  uint16_t bits;
  using Opened = float;
  __forceinline__ __device__ void load(const uint8_t* block) {
    bits = hiptool_blocks::bits_16(block);
  }
  __forceinline__ __device__ Opened open() const { return f16_to_value(bits); }
};

struct Q4_0Scale : HalfScale {
  static __forceinline__ __device__ void values(uint32_t nibbles, uint32_t place, Opened scale,
                                                float* four) {
    hiptool_blocks::scale_bytes(nibbles_at(nibbles, place), scale, 8, four);
  }
};

// Places in a table of 16 bytes, which are 128 more than the numbers of scale_iq4.
struct Iq4NlScale : HalfScale {
  static __forceinline__ __device__ void values(uint32_t nibbles, uint32_t place, Opened scale,
                                                float* four) {
    const uint32_t places = nibbles & 0x77777777U;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const uint32_t own = places >> (16 * half);
      const uint32_t low = hiptool_blocks::chosen_bytes(0x3F2D1801U, 0x766A5D4FU, own);
      const uint32_t high = hiptool_blocks::chosen_bytes(0xA6998D81U, 0xF1D9C5B5U, own);
      const uint32_t is_high = nibble_masks(nibbles, half);
      const uint32_t chosen = (high & is_high) | (low & ~is_high);
#pragma unroll
      for (unsigned k = 0; k < 2; ++k) {
        four[2 * half + k] =
            scale * hiptool_blocks::number_of_byte(chosen, 2 * k + place / 16, 128);
      }
    }
  }
};

struct HalfScaleAndAddend {
  uint32_t bits;
  struct Opened {
    float scale;
    float added;
  };
  __forceinline__ __device__ void load(const uint8_t* block) {
    bits = hiptool_blocks::word_at<4>(block);
  }
  __forceinline__ __device__ Opened open() const {
    return {f16_to_value(static_cast<uint16_t>(bits)),
            f16_to_value(static_cast<uint16_t>(bits >> 16))};
  }
};

struct Q4_1Scale : HalfScaleAndAddend {
  static __forceinline__ __device__ void values(uint32_t nibbles, uint32_t place, const Opened& own,
                                                float* four) {
    hiptool_blocks::scale_and_add(nibbles_at(nibbles, place), own.scale, own.added, four);
  }
};

// With a fifth bit of each column in the word behind the scale.
template <class Scale, unsigned at>
struct FifthBits {
  Scale scale;
  uint32_t bits;
  struct Opened {
    typename Scale::Opened scale;
    uint32_t bits;
    __forceinline__ __device__ uint32_t numbers(uint32_t nibbles, uint32_t place) const {
      return nibbles_at(nibbles, place) | hiptool_blocks::spread_bits(bits >> place) << 4;
    }
  };
  __forceinline__ __device__ void load(const uint8_t* block) {
    scale.load(block);
    bits = hiptool_blocks::word_at<at>(block + at);
  }
  __forceinline__ __device__ Opened open() const { return {scale.open(), bits}; }
};
struct Q5_0Scale : FifthBits<HalfScale, 2> {
  static __forceinline__ __device__ void values(uint32_t nibbles, uint32_t place, const Opened& own,
                                                float* four) {
    hiptool_blocks::scale_bytes(own.numbers(nibbles, place), own.scale, 16, four);
  }
};
struct Q5_1Scale : FifthBits<HalfScaleAndAddend, 4> {
  static __forceinline__ __device__ void values(uint32_t nibbles, uint32_t place, const Opened& own,
                                                float* four) {
    hiptool_blocks::scale_and_add(own.numbers(nibbles, place), own.scale.scale, own.scale.added,
                                  four);
  }
};

// Two blocks of 32 columns, of which a row's last stretch may lack the second: the numbers are in
// 16 bytes from byte `at` of a block on, first all lower nibbles.
template <unsigned bytes, unsigned at, class Scale>
struct NibbleStretch : NeighbouringPieces {
  enum : bool { is_known = true, is_whole = false };
  enum : unsigned { align = bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1 };
  PlacedBytes<align> nibbles[2];
  Scale scales[2];

  struct Opened {
    typename Scale::Opened scales[2];
    uint32_t words[2][4];
    __forceinline__ __device__ void values(uint32_t unit, float* four) const {
      Scale::values(words[unit / 8][unit % 4], unit % 8 * 4, scales[unit / 8], four);
    }
  };

  __forceinline__ __device__ void load(const uint8_t* row, uint32_t stretch, uint32_t pieces) {
    const uint8_t* const block = row + static_cast<uint64_t>(stretch) * (2 * bytes);
    const uint32_t other = stretch * stretch_pieces + 2 < pieces ? bytes : 0;
#pragma unroll
    for (uint32_t k = 0; k < 2; ++k) {
      nibbles[k].load(block + k * other + at);
      scales[k].load(block + k * other);
    }
  }
  __forceinline__ __device__ Opened open(uint32_t) const {
    Opened opened;
#pragma unroll
    for (uint32_t k = 0; k < 2; ++k) {
      opened.scales[k] = scales[k].open();
      nibbles[k].words(opened.words[k]);
    }
    return opened;
  }
};

template <>
struct Stretch<BlockRow<32, 17, hiptool_blocks::mxfp4_values>> : NibbleStretch<17, 1, Mxfp4Scale> {
};
template <>
struct Stretch<BlockRow<32, 18, hiptool_blocks::q4_0_values>> : NibbleStretch<18, 2, Q4_0Scale> {};
template <>
struct Stretch<BlockRow<32, 18, hiptool_blocks::iq4_nl_values>> : NibbleStretch<18, 2, Iq4NlScale> {
};
template <>
struct Stretch<BlockRow<32, 20, hiptool_blocks::q4_1_values>> : NibbleStretch<20, 4, Q4_1Scale> {};
template <>
struct Stretch<BlockRow<32, 22, hiptool_blocks::q5_0_values>> : NibbleStretch<22, 6, Q5_0Scale> {};
template <>
struct Stretch<BlockRow<32, 24, hiptool_blocks::q5_1_values>> : NibbleStretch<24, 8, Q5_1Scale> {};

// A block: four scales, and of each piece first all lower nibbles of its 8 bytes.
template <>
struct Stretch<BlockRow<64, 36, hiptool_blocks::nvfp4_values>> : NeighbouringPieces {
  enum : bool { is_known = true };
  PlacedBytes<4> nibbles[2];
  uint32_t scales;

  struct Opened {
    float scales[4];
    uint32_t words[8];
    // Without a sign of 0, which a scale of 0 would give to the product, too.
    __forceinline__ __device__ void values(uint32_t unit, float* four) const {
      const uint32_t nibbles = words[unit / 4 * 2 + unit % 2];
      const uint32_t is_some = ((nibbles & 0x77777777U) + 0x77777777U) | 0x77777777U;
      fp4_numbers(fp4_bytes(nibbles & is_some), unit % 4 / 2, four);
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) four[k] = scales[unit / 4] * four[k];
    }
  };

  __forceinline__ __device__ void load(const uint8_t* row, uint32_t stretch, uint32_t) {
    const uint8_t* const block = row + static_cast<uint64_t>(stretch) * 36;
    scales = hiptool_blocks::word_at<4>(block);
    nibbles[0].load(block + 4);
    nibbles[1].load(block + 20);
  }
  __forceinline__ __device__ Opened open(uint32_t) const {
    Opened opened;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      opened.scales[k] = hiptool_blocks::half_of_ue4m3(hiptool_blocks::byte_of(scales, k));
    }
    nibbles[0].words(opened.words);
    nibbles[1].words(opened.words + 4);
    return opened;
  }
};

}  // namespace hiptool_ops
