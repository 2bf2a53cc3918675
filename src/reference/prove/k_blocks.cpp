// SPDX-License-Identifier: MIT
#include <cstdint>

#include "reference/prove/values.hpp"

namespace hiptool::reference {
namespace {

constexpr int k_elements = 256;

// Planes of two bits: 32 elements from the byte on.
int two_bits(const std::uint8_t* quants, int group, int element) {
  return quants[group / 4 * 32 + element] >> (group % 4 * 2) & 3;
}

void q2_k_block(const std::uint8_t* block, double* values) {
  const std::uint8_t* scales = block;       // 16: scale in the low half, minimum in the high one
  const std::uint8_t* quants = block + 16;  // two parts of 32 bytes with four planes of 2 bits
  const double scale = half_at(block + 80);
  const double minimum = half_at(block + 82);
  for (int half = 0; half < 16; ++half) {
    const double factor = scale * (scales[half] & 15);
    const double less = minimum * (scales[half] >> 4);
    for (int i = 0; i < 16; ++i) {
      values[16 * half + i] = factor * two_bits(quants, half / 2, half % 2 * 16 + i) - less;
    }
  }
}

// Sixteen scales of 6 bits: low halves in 8 bytes, the upper two bits in planes of 4 bytes.
int q3_k_scale(const std::uint8_t* packed, int number) {
  const int low = number < 8 ? packed[number] & 15 : packed[number - 8] >> 4;
  const int high = packed[8 + number % 4] >> (number / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

void q3_k_block(const std::uint8_t* block, double* values) {
  const std::uint8_t* high = block;         // bit i / 32 of byte i % 32: clear means minus 4
  const std::uint8_t* quants = block + 32;  // as in Q2_K
  const double scale = half_at(block + 108);
  for (int half = 0; half < 16; ++half) {
    const double factor = scale * q3_k_scale(block + 96, half);
    for (int i = 0; i < 16; ++i) {
      const int element = half % 2 * 16 + i;
      const int is_high = high[element] >> (half / 2) & 1;
      values[16 * half + i] = factor * (two_bits(quants, half / 2, element) - 4 + 4 * is_high);
    }
  }
}

struct ScaleAndMinimum {
  int scale;
  int minimum;
};

// Eight pairs of 6 bits in 12 bytes.
ScaleAndMinimum q4_k_pair(const std::uint8_t* packed, int number) {
  if (number < 4) return {packed[number] & 63, packed[number + 4] & 63};
  return {(packed[number + 4] & 15) | packed[number - 4] >> 6 << 4,
          packed[number + 4] >> 4 | packed[number] >> 6 << 4};
}

// Of Q4_K and Q5_K: 32 bytes hold two groups of 32, the first in the low halves.
int nibble_of_group(const std::uint8_t* quants, int group, int element) {
  return quants[group / 2 * 32 + element] >> (group % 2 * 4) & 15;
}

void q4_k_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  const double minimum = half_at(block + 2);
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMinimum pair = q4_k_pair(block + 4, group);
    const double factor = scale * pair.scale;
    const double less = minimum * pair.minimum;
    for (int i = 0; i < 32; ++i) {
      values[32 * group + i] = factor * nibble_of_group(block + 16, group, i) - less;
    }
  }
}

void q5_k_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  const double minimum = half_at(block + 2);
  const std::uint8_t* fifth = block + 16;  // bit i / 32 of byte i % 32
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMinimum pair = q4_k_pair(block + 4, group);
    const double factor = scale * pair.scale;
    const double less = minimum * pair.minimum;
    for (int i = 0; i < 32; ++i) {
      const int quant = nibble_of_group(block + 48, group, i) | (fifth[i] >> group & 1) << 4;
      values[32 * group + i] = factor * quant - less;
    }
  }
}

void q6_k_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block + 208);
  for (int part = 0; part < 16; ++part) {
    const int half = part / 8;  // of the block
    const int group = part % 8 / 2;
    const std::uint8_t* low = block + 64 * half + 32 * (group % 2) + part % 2 * 16;
    const std::uint8_t* high = block + 128 + 32 * half + part % 2 * 16;
    const double factor = scale * static_cast<std::int8_t>(block[192 + part]);
    for (int i = 0; i < 16; ++i) {
      const int quant = (low[i] >> (group / 2 * 4) & 15) | (high[i] >> (2 * group) & 3) << 4;
      values[16 * part + i] = factor * (quant - 32);
    }
  }
}

// Five digits of base 3 in a byte, as a fraction of 256: multiplying by 3^n moves digit n to the
// top.
int ternary_digit(std::uint8_t byte, int number) {
  constexpr int powers[] = {1, 3, 9, 27, 81};
  const int moved = byte * powers[number] & 255;
  return (moved * 3 >> 8) - 1;
}

void tq1_0_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block + 52);
  for (int i = 0; i < 160; ++i) values[i] = scale * ternary_digit(block[i % 32], i / 32);
  for (int i = 0; i < 80; ++i) values[160 + i] = scale * ternary_digit(block[32 + i % 16], i / 16);
  for (int i = 0; i < 16; ++i) values[240 + i] = scale * ternary_digit(block[48 + i % 4], i / 4);
}

void tq2_0_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block + 64);
  for (int i = 0; i < k_elements; ++i) {
    const int quant = block[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    values[i] = scale * (quant - 1);
  }
}

}  // namespace

BlockToDoubles k_block_function(std::string_view type) noexcept {
  if (type == "Q2_K") return q2_k_block;
  if (type == "Q3_K") return q3_k_block;
  if (type == "Q4_K") return q4_k_block;
  if (type == "Q5_K") return q5_k_block;
  if (type == "Q6_K") return q6_k_block;
  if (type == "TQ1_0") return tq1_0_block;
  if (type == "TQ2_0") return tq2_0_block;
  return nullptr;
}

}  // namespace hiptool::reference
