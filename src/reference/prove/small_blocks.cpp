// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <cstdint>

#include "reference/prove/values.hpp"

namespace hiptool::reference {
namespace {

// The value of four bits of E2M1 (OCP microscaling formats 1.0).
constexpr std::array<double, 16> e2m1_values{0, 0.5,  1,  1.5,  2,  3,  4,  6,
                                             0, -0.5, -1, -1.5, -2, -3, -4, -6};

// Numbers of four bits: those in the low halves of the bytes come first.
template <int Bytes>
int nibble_at(const std::uint8_t* bytes, int element) {
  return element < Bytes ? bytes[element] & 0x0F : bytes[element - Bytes] >> 4;
}

void q4_0_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int i = 0; i < 32; ++i) values[i] = scale * (nibble_at<16>(block + 2, i) - 8);
}

void q4_1_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  const double minimum = half_at(block + 2);
  for (int i = 0; i < 32; ++i) values[i] = scale * nibble_at<16>(block + 4, i) + minimum;
}

// The fifth bit of element i is bit i of a word.
int five_bits(const std::uint8_t* nibbles, std::uint32_t fifth, int element) {
  return nibble_at<16>(nibbles, element) + static_cast<int>((fifth >> element & 1) << 4);
}

void q5_0_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  const std::uint32_t fifth = bits_32(block + 2);
  for (int i = 0; i < 32; ++i) values[i] = scale * (five_bits(block + 6, fifth, i) - 16);
}

void q5_1_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  const double minimum = half_at(block + 2);
  const std::uint32_t fifth = bits_32(block + 4);
  for (int i = 0; i < 32; ++i) values[i] = scale * five_bits(block + 8, fifth, i) + minimum;
}

void q8_0_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<std::int8_t>(block[2 + i]);
}

void mxfp4_block(const std::uint8_t* block, double* values) {
  const double scale = std::ldexp(1.0, block[0] - 127);
  for (int i = 0; i < 32; ++i) {
    values[i] = scale * e2m1_values[static_cast<std::size_t>(nibble_at<16>(block + 1, i))];
  }
}

// ggml takes 0x7F, which is NaN elsewhere, as 0, and does not look at the top bit otherwise.
double ue4m3_value(std::uint8_t bits) {
  if (bits == 0x7F) return 0;
  const int exponent = bits >> 3 & 15;
  const int mantissa = bits & 7;
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}

void nvfp4_block(const std::uint8_t* block, double* values) {
  for (int part = 0; part < 4; ++part) {
    const double scale = ue4m3_value(block[part]);
    const std::uint8_t* nibbles = block + 4 + 8 * part;
    for (int i = 0; i < 16; ++i) {
      values[16 * part + i] =
          scale * e2m1_values[static_cast<std::size_t>(nibble_at<8>(nibbles, i))];
    }
  }
}

void q1_0_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int i = 0; i < 128; ++i) values[i] = (block[2 + i / 8] >> (i % 8) & 1) != 0 ? scale : -scale;
}

void q2_0_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int i = 0; i < 64; ++i) values[i] = scale * ((block[2 + i / 4] >> (2 * (i % 4)) & 3) - 1);
}

}  // namespace

BlockToDoubles small_block_function(std::string_view type) noexcept {
  if (type == "Q4_0") return q4_0_block;
  if (type == "Q4_1") return q4_1_block;
  if (type == "Q5_0") return q5_0_block;
  if (type == "Q5_1") return q5_1_block;
  if (type == "Q8_0") return q8_0_block;
  if (type == "MXFP4") return mxfp4_block;
  if (type == "NVFP4") return nvfp4_block;
  if (type == "Q1_0") return q1_0_block;
  if (type == "Q2_0") return q2_0_block;
  return nullptr;
}

}  // namespace hiptool::reference
