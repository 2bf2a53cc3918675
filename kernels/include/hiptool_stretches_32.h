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

// What stretches of two blocks need of a type: what is in front of its nibbles, the scale in it,
// and the numbers of four columns from `place` on, which are in a word's lower or upper nibbles.
struct Mxfp4Head {
  uint8_t exponent;

  __forceinline__ __device__ void load(const uint8_t* block) { exponent = block[0]; }
  __forceinline__ __device__ hiptool_blocks::Scale scale() const {
    return {hiptool_blocks::half_of_exponent(exponent), 0};
  }
  // -0 stays, which changes no product but for its sign of 0.
  __forceinline__ __device__ void numbers(uint32_t nibbles, uint32_t place, float* four) const {
    fp4_numbers(fp4_bytes(nibbles), place / 16, four);
  }
};

__forceinline__ __device__ uint32_t nibbles_at(uint32_t nibbles, uint32_t place) {
  return nibbles >> (place / 16 * 4) & 0x0F0F0F0FU;
}

struct HeadWithStep {
  uint16_t bits;
  __forceinline__ __device__ void load(const uint8_t* block) {
    bits = hiptool_blocks::bits_16(block);
  }
  __forceinline__ __device__ hiptool_blocks::Scale scale() const { return {f16_to_value(bits), 0}; }
};

struct Q4_0Head : HeadWithStep {
  __forceinline__ __device__ void numbers(uint32_t nibbles, uint32_t place, float* four) const {
    hiptool_blocks::numbers_of_bytes(nibbles_at(nibbles, place), 8, four);
  }
};

// Places in a table of 16 bytes, which are 128 more than the numbers of iq4_numbers.
struct Iq4NlHead : HeadWithStep {
  __forceinline__ __device__ void numbers(uint32_t nibbles, uint32_t place, float* four) const {
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
        four[2 * half + k] = hiptool_blocks::number_of_byte(chosen, 2 * k + place / 16, 128);
      }
    }
  }
};

struct HeadWithAddend {
  uint32_t bits;
  __forceinline__ __device__ void load(const uint8_t* block) {
    bits = hiptool_blocks::word_at<4>(block);
  }
  __forceinline__ __device__ hiptool_blocks::Scale scale() const {
    return {f16_to_value(static_cast<uint16_t>(bits)),
            -f16_to_value(static_cast<uint16_t>(bits >> 16))};
  }
};

struct Q4_1Head : HeadWithAddend {
  __forceinline__ __device__ void numbers(uint32_t nibbles, uint32_t place, float* four) const {
    hiptool_blocks::numbers_of_bytes(nibbles_at(nibbles, place), 0, four);
  }
};

// With a fifth bit of each column in the word behind the scale; numbers are less `offset`.
template <class Head, unsigned at, int offset>
struct HeadWithFifths : Head {
  uint32_t fifths;

  __forceinline__ __device__ void load(const uint8_t* block) {
    Head::load(block);
    fifths = hiptool_blocks::word_at<at>(block + at);
  }
  __forceinline__ __device__ void numbers(uint32_t nibbles, uint32_t place, float* four) const {
    hiptool_blocks::numbers_of_bytes(
        nibbles_at(nibbles, place) | hiptool_blocks::spread_bits(fifths >> place) << 4, offset,
        four);
  }
};

// Two blocks of 32 columns, of which a row's last stretch may lack the second: the numbers are in
// 16 bytes from byte `at` of a block on, first all lower nibbles.
template <unsigned bytes, unsigned at, class Head>
struct NibbleStretch : NeighbouringPieces<> {
  enum : bool { is_known = true, is_whole = false };
  enum : unsigned { align = bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1 };
  PlacedBytes<align> nibbles[2];
  Head heads[2];

  struct Opened {
    Head heads[2];
    uint32_t words[2][4];
    template <bool>
    __forceinline__ __device__ hiptool_blocks::Scale scale(uint32_t piece) const {
      return heads[piece / 2].scale();
    }
    template <bool>
    __forceinline__ __device__ void numbers(uint32_t unit, float* four) const {
      heads[unit / 8].numbers(words[unit / 8][unit % 4], unit % 8 * 4, four);
    }
  };

  __forceinline__ __device__ void load(const uint8_t* row, uint32_t stretch, uint32_t pieces) {
    const uint8_t* const block = row + static_cast<uint64_t>(stretch) * (2 * bytes);
    const uint32_t other = stretch * stretch_pieces + 2 < pieces ? bytes : 0;
#pragma unroll
    for (uint32_t k = 0; k < 2; ++k) {
      nibbles[k].load(block + k * other + at);
      heads[k].load(block + k * other);
    }
  }
  __forceinline__ __device__ Opened open(uint32_t) const {
    Opened opened;
#pragma unroll
    for (uint32_t k = 0; k < 2; ++k) {
      opened.heads[k] = heads[k];
      nibbles[k].words(opened.words[k]);
    }
    return opened;
  }
};

template <>
struct Stretch<BlockRow<hiptool_blocks::mxfp4>> : NibbleStretch<17, 1, Mxfp4Head> {};
template <>
struct Stretch<BlockRow<hiptool_blocks::q4_0>> : NibbleStretch<18, 2, Q4_0Head> {};
template <>
struct Stretch<BlockRow<hiptool_blocks::iq4_nl>> : NibbleStretch<18, 2, Iq4NlHead> {};
template <>
struct Stretch<BlockRow<hiptool_blocks::q4_1>> : NibbleStretch<20, 4, Q4_1Head> {};
template <>
struct Stretch<BlockRow<hiptool_blocks::q5_0>>
    : NibbleStretch<22, 6, HeadWithFifths<HeadWithStep, 2, 16>> {};
template <>
struct Stretch<BlockRow<hiptool_blocks::q5_1>>
    : NibbleStretch<24, 8, HeadWithFifths<HeadWithAddend, 4, 0>> {};

// A block: four scales, and of each piece first all lower nibbles of its 8 bytes.
template <>
struct Stretch<BlockRow<hiptool_blocks::nvfp4>> : NeighbouringPieces<> {
  enum : bool { is_known = true };
  PlacedBytes<4> nibbles[2];
  uint32_t scales;

  struct Opened {
    float scales[4];
    uint32_t words[8];
    template <bool>
    __forceinline__ __device__ hiptool_blocks::Scale scale(uint32_t piece) const {
      return {scales[piece], 0};
    }
    template <bool>
    __forceinline__ __device__ void numbers(uint32_t unit, float* four) const {
      fp4_numbers(fp4_bytes(words[unit / 4 * 2 + unit % 2]), unit % 4 / 2, four);
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
