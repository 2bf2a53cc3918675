// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>

#include "reference/prove/iq_grids.hpp"
#include "reference/prove/values.hpp"

namespace hiptool::reference {
namespace {

constexpr std::array<int, 16> iq4_values{-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

// Seven signs are stored; the eighth makes the number of minus signs even.
unsigned eight_signs(unsigned seven) {
  unsigned ones = 0;
  for (unsigned bit = 0; bit < 7; ++bit) ones += seven >> bit & 1;
  return seven | (ones & 1) << 7;
}

// Count elements of a point, negated where the bit of `signs` is set.
void put_point(const std::int8_t* point, int count, unsigned signs, double scale, double* values) {
  for (int i = 0; i < count; ++i) {
    values[i] = (signs >> i & 1) != 0 ? -scale * point[i] : scale * point[i];
  }
}

const std::int8_t* point_of(const std::vector<std::int8_t>& grid, std::size_t index,
                            std::size_t elements) {
  return grid.data() + index * elements;
}

// In all of these a block is 8 groups of 32 elements, and a group 4 points of 8 (or pairs of 4).

void iq2_xxs_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const std::uint8_t* bytes = block + 2 + 8 * group;
    const std::uint32_t rest = bits_32(bytes + 4);
    const double factor = scale * (0.5 + (rest >> 28)) * 0.25;
    for (int part = 0; part < 4; ++part) {
      const std::int8_t* point = point_of(reference_grids().iq2_xxs, bytes[part], 8);
      put_point(point, 8, eight_signs(rest >> (7 * part) & 127), factor,
                values + 32 * group + 8 * part);
    }
  }
}

// Two scales of 4 bits for each group.
double iq2_factor(double scale, std::uint8_t both, int part) {
  return scale * (0.5 + (both >> (part / 2 * 4) & 15)) * 0.25;
}

void iq2_xs_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    for (int part = 0; part < 4; ++part) {
      const std::uint32_t code = bits_16(block + 2 + 8 * group + 2 * part);
      const std::int8_t* point = point_of(reference_grids().iq2_xs, code & 511, 8);
      put_point(point, 8, eight_signs(code >> 9), iq2_factor(scale, block[66 + group], part),
                values + 32 * group + 8 * part);
    }
  }
}

void iq2_s_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    for (int part = 0; part < 4; ++part) {
      const std::size_t low = block[2 + 4 * group + part];
      const std::size_t high = block[66 + group] >> (2 * part) & 3;
      const std::int8_t* point = point_of(reference_grids().iq2_s, low | high << 8, 8);
      put_point(point, 8, block[34 + 4 * group + part], iq2_factor(scale, block[74 + group], part),
                values + 32 * group + 8 * part);
    }
  }
}

void iq3_xxs_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const std::uint32_t rest = bits_32(block + 66 + 4 * group);
    const double factor = scale * (0.5 + (rest >> 28)) * 0.5;
    for (int part = 0; part < 8; ++part) {
      const std::int8_t* point =
          point_of(reference_grids().iq3_xxs, block[2 + 8 * group + part], 4);
      const unsigned signs = eight_signs(rest >> (7 * (part / 2)) & 127);
      put_point(point, 4, signs >> (part % 2 * 4), factor, values + 32 * group + 4 * part);
    }
  }
}

void iq3_s_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const double factor = scale * (1 + 2 * (block[106 + group / 2] >> (group % 2 * 4) & 15));
    for (int part = 0; part < 8; ++part) {
      const std::size_t low = block[2 + 8 * group + part];
      const std::size_t high = block[66 + group] >> part & 1;
      const std::int8_t* point = point_of(reference_grids().iq3_s, low | high << 8, 4);
      const unsigned signs = block[74 + 4 * group + part / 2];
      put_point(point, 4, signs >> (part % 2 * 4), factor, values + 32 * group + 4 * part);
    }
  }
}

// Ternary points, all moved up or down by an eighth.
void put_moved(const std::int8_t* point, bool is_down, double factor, double* values) {
  for (int i = 0; i < 8; ++i) values[i] = factor * (point[i] + (is_down ? -0.125 : 0.125));
}

void iq1_s_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const std::uint32_t high = bits_16(block + 34 + 2 * group);
    const double factor = scale * (2 * (high >> 12 & 7) + 1);
    for (int part = 0; part < 4; ++part) {
      const std::size_t index = block[2 + 4 * group + part] | (high >> (3 * part) & 7) << 8;
      put_moved(point_of(reference_grids().iq1, index, 8), high >> 15 != 0, factor,
                values + 32 * group + 8 * part);
    }
  }
}

void iq1_m_block(const std::uint8_t* block, double* values) {
  const std::uint8_t* scales = block + 48;
  std::uint32_t spread = 0;  // the F16 is in the top halves of the four words
  for (int word = 0; word < 4; ++word) spread |= (bits_16(scales + 2 * word) >> 12) << (4 * word);
  const double scale = small_float(spread, 5, 10);
  for (int group = 0; group < 8; ++group) {
    const std::uint32_t packed = bits_16(scales + group / 2 * 2);
    for (int part = 0; part < 4; ++part) {
      const double factor = scale * (2 * (packed >> (group % 2 * 6 + part / 2 * 3) & 7) + 1);
      const std::uint32_t half = block[32 + 2 * group + part / 2] >> (part % 2 * 4) & 15;
      const std::size_t index = block[4 * group + part] | (half & 7) << 8;
      put_moved(point_of(reference_grids().iq1, index, 8), half >> 3 != 0, factor,
                values + 32 * group + 8 * part);
    }
  }
}

void iq4_group(const std::uint8_t* nibbles, double factor, double* values) {
  for (std::size_t i = 0; i < 16; ++i) {
    values[i] = factor * iq4_values[nibbles[i] & 15u];
    values[16 + i] = factor * iq4_values[nibbles[i] >> 4];
  }
}

void iq4_nl_block(const std::uint8_t* block, double* values) {
  iq4_group(block + 2, half_at(block), values);
}

void iq4_xs_block(const std::uint8_t* block, double* values) {
  const double scale = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const int low = block[4 + group / 2] >> (group % 2 * 4) & 15;
    const int high = static_cast<int>(bits_16(block + 2) >> (2 * group) & 3);
    iq4_group(block + 8 + 16 * group, scale * ((low | high << 4) - 32), values + 32 * group);
  }
}

}  // namespace

BlockToDoubles iq_block_function(std::string_view type) noexcept {
  if (type == "IQ2_XXS") return iq2_xxs_block;
  if (type == "IQ2_XS") return iq2_xs_block;
  if (type == "IQ2_S") return iq2_s_block;
  if (type == "IQ3_XXS") return iq3_xxs_block;
  if (type == "IQ3_S") return iq3_s_block;
  if (type == "IQ1_S") return iq1_s_block;
  if (type == "IQ1_M") return iq1_m_block;
  if (type == "IQ4_NL") return iq4_nl_block;
  if (type == "IQ4_XS") return iq4_xs_block;
  return nullptr;
}

}  // namespace hiptool::reference
