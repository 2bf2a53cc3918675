// SPDX-License-Identifier: MIT
#include <cstdint>

#include "reference/prove/values.hpp"

namespace hiptool::reference {
namespace {

constexpr int k_elements = 256;

void q2_k_block(const std::uint8_t* block, double* values) {
  const std::uint8_t* scales = block;       // 16: scale in the low half, minimum in the high one
  const std::uint8_t* quants = block + 16;  // two parts of 32 bytes with four planes of 2 bits
  const double scale = half_at(block + 80);
  const double minimum = half_at(block + 82);
  for (int i = 0; i < k_elements; ++i) {
    const int quant = quants[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    const int both = scales[i / 16];
    values[i] = scale * (both & 15) * quant - minimum * (both >> 4);
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
  for (int i = 0; i < k_elements; ++i) {
    int quant = quants[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    if ((high[i % 32] >> (i / 32) & 1) == 0) quant -= 4;
    values[i] = scale * q3_k_scale(block + 96, i / 16) * quant;
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
int nibble_of_group(const std::uint8_t* quants, int element) {
  return quants[element / 64 * 32 + element % 32] >> (element / 32 % 2 * 4) & 15;
}

void q4_k_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  const double minimum = half_at(block + 2);
  for (int i = 0; i < k_elements; ++i) {
    const ScaleAndMinimum pair = q4_k_pair(block + 4, i / 32);
    values[i] = scale * pair.scale * nibble_of_group(block + 16, i) - minimum * pair.minimum;
  }
}

void q5_k_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  const double minimum = half_at(block + 2);
  const std::uint8_t* fifth = block + 16;  // bit i / 32 of byte i % 32
  for (int i = 0; i < k_elements; ++i) {
    const ScaleAndMinimum pair = q4_k_pair(block + 4, i / 32);
    const int quant = nibble_of_group(block + 48, i) | (fifth[i % 32] >> (i / 32) & 1) << 4;
    values[i] = scale * pair.scale * quant - minimum * pair.minimum;
  }
}

void q6_k_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block + 208);
  for (int i = 0; i < k_elements; ++i) {
    const int half = i / 128;
    const int group = i % 128 / 32;
    const int low = block[64 * half + 32 * (group % 2) + i % 32] >> (group / 2 * 4) & 15;
    const int high = block[128 + 32 * half + i % 32] >> (2 * group) & 3;
    const int factor = static_cast<std::int8_t>(block[192 + i / 16]);
    values[i] = scale * factor * ((low | high << 4) - 32);
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
