// SPDX-License-Identifier: MIT
/// The values of packed weights in pieces of 16, from the bytes of a block. Written after the block
/// structs of ggml-common.h and the functions dequantize_row_* of ggml-quants.c; uses nothing of
/// kernels/, which it tests.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hiptool::test {

inline constexpr std::size_t piece_size = 16;

/// Values are step * number - minimum. A plain type has no step: its numbers are the values.
struct Piece {
  std::array<float, piece_size> numbers{};
  float step = 0;
  float minimum = 0;
  bool has_step = false;
  bool has_minimum = false;
};

/// A piece whose element k is step * number_of(k).
template <class NumberOf>
Piece piece_of(float step, NumberOf number_of) {
  Piece piece{{}, step, 0, true, false};
  for (std::size_t k = 0; k < piece_size; ++k) {
    piece.numbers[k] = static_cast<float>(number_of(k));
  }
  return piece;
}

template <class NumberOf>
Piece piece_of(float step, float minimum, NumberOf number_of) {
  Piece piece = piece_of(step, number_of);
  piece.minimum = minimum;
  piece.has_minimum = true;
  return piece;
}

using Pieces = std::vector<Piece>;

/// Of a finite binary16 of normal size.
inline float half_at(const std::uint8_t* bytes) {
  const int bits = bytes[0] | bytes[1] << 8;
  const float size = std::ldexp(static_cast<float>(1024 + bits % 1024), bits / 1024 % 32 - 25);
  return bits / 32768 == 0 ? size : -size;
}

/// Of 32 nibbles in 16 bytes, the lower ones first.
inline int nibble_at(const std::uint8_t* bytes, std::size_t half, std::size_t k) {
  return bytes[k] >> (4 * half) & 15;
}

inline void add_q8_0(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t half = 0; half < 2; ++half) {
    pieces.push_back(piece_of(half_at(block), [&](std::size_t k) {
      return static_cast<std::int8_t>(block[2 + half * piece_size + k]);
    }));
  }
}

inline void add_q4_0(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t half = 0; half < 2; ++half) {
    pieces.push_back(
        piece_of(half_at(block), [&](std::size_t k) { return nibble_at(block + 2, half, k) - 8; }));
  }
}

inline void add_q4_1(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t half = 0; half < 2; ++half) {
    pieces.push_back(piece_of(half_at(block), -half_at(block + 2),
                              [&](std::size_t k) { return nibble_at(block + 4, half, k); }));
  }
}

/// Of Q5_0 and Q5_1: bit i of four bytes is the fifth bit of element i.
inline int five_bits_at(const std::uint8_t* fifths, const std::uint8_t* nibbles, std::size_t half,
                        std::size_t k) {
  const int fifth = fifths[2 * half + k / 8] >> (k % 8) & 1;
  return nibble_at(nibbles, half, k) | fifth << 4;
}

inline void add_q5_0(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t half = 0; half < 2; ++half) {
    pieces.push_back(piece_of(half_at(block), [&](std::size_t k) {
      return five_bits_at(block + 2, block + 6, half, k) - 16;
    }));
  }
}

inline void add_q5_1(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t half = 0; half < 2; ++half) {
    pieces.push_back(piece_of(half_at(block), -half_at(block + 2), [&](std::size_t k) {
      return five_bits_at(block + 4, block + 8, half, k);
    }));
  }
}

/// Where Q2_K, Q3_K and TQ2_0 have two bits of an element of piece p, from their `qs` on.
inline int two_bits_at(const std::uint8_t* pairs, std::size_t p, std::size_t k) {
  return pairs[p / 8 * 32 + p % 2 * piece_size + k] >> (2 * (p % 8 / 2)) & 3;
}

inline void add_q2_k(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t p = 0; p < 16; ++p) {
    pieces.push_back(piece_of(half_at(block + 80) * static_cast<float>(block[p] & 15),
                              half_at(block + 82) * static_cast<float>(block[p] >> 4),
                              [&](std::size_t k) { return two_bits_at(block + 16, p, k); }));
  }
}

inline void add_q3_k(const std::uint8_t* block, Pieces& pieces) {
  const std::uint8_t* const scales = block + 96;
  for (std::size_t p = 0; p < 16; ++p) {
    const int low = scales[p % 8] >> (p / 8 * 4) & 15;
    const int high = scales[8 + p % 4] >> (p / 4 * 2) & 3;
    const auto scale = static_cast<float>((low | high << 4) - 32);
    pieces.push_back(piece_of(half_at(block + 108) * scale, [&](std::size_t k) {
      const int third = block[p % 2 * piece_size + k] >> (p / 2) & 1;
      return two_bits_at(block + 32, p, k) + 4 * third - 4;
    }));
  }
}

/// Q4_K, and Q5_K by the bits of `fifths`.
inline void add_k(const std::uint8_t* block, const std::uint8_t* fifths, Pieces& pieces) {
  const std::uint8_t* const scales = block + 4;
  const std::uint8_t* const nibbles = fifths == nullptr ? block + 16 : block + 48;
  for (std::size_t p = 0; p < 16; ++p) {
    const std::size_t run = p / 2;
    const int step =
        run < 4 ? scales[run] & 63 : (scales[run + 4] & 15) | scales[run - 4] >> 6 << 4;
    const int least = run < 4 ? scales[run + 4] & 63 : scales[run + 4] >> 4 | scales[run] >> 6 << 4;
    pieces.push_back(piece_of(half_at(block) * static_cast<float>(step),
                              half_at(block + 2) * static_cast<float>(least), [&](std::size_t k) {
                                const std::size_t at = p % 2 * piece_size + k;
                                const int low = nibbles[run / 2 * 32 + at] >> (run % 2 * 4) & 15;
                                const int high = fifths == nullptr ? 0 : fifths[at] >> run & 1;
                                return low | high << 4;
                              }));
  }
}

inline void add_q4_k(const std::uint8_t* block, Pieces& pieces) { add_k(block, nullptr, pieces); }
inline void add_q5_k(const std::uint8_t* block, Pieces& pieces) {
  add_k(block, block + 16, pieces);
}

inline void add_q6_k(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t p = 0; p < 16; ++p) {
    const std::size_t quarter = p % 8 / 2;
    const auto scale = static_cast<float>(static_cast<std::int8_t>(block[192 + p]));
    pieces.push_back(piece_of(half_at(block + 208) * scale, [&](std::size_t k) {
      const std::size_t at = p % 2 * piece_size + k;
      const int low = block[p / 8 * 64 + quarter % 2 * 32 + at] >> (quarter / 2 * 4) & 15;
      const int high = block[128 + p / 8 * 32 + at] >> (quarter * 2) & 3;
      return (low | high << 4) - 32;
    }));
  }
}

inline constexpr std::array<int, 16> iq4_numbers{-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};

inline void add_iq4_nl(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t half = 0; half < 2; ++half) {
    pieces.push_back(piece_of(half_at(block), [&](std::size_t k) {
      return iq4_numbers.at(static_cast<std::size_t>(nibble_at(block + 2, half, k)));
    }));
  }
}

inline void add_iq4_xs(const std::uint8_t* block, Pieces& pieces) {
  const int upper_bits = block[2] | block[3] << 8;
  for (std::size_t p = 0; p < 16; ++p) {
    const std::size_t run = p / 2;
    const int scale = (block[4 + run / 2] >> (run % 2 * 4) & 15) | (upper_bits >> (run * 2) & 3)
                                                                       << 4;
    pieces.push_back(piece_of(half_at(block) * static_cast<float>(scale - 32), [&](std::size_t k) {
      return iq4_numbers.at(static_cast<std::size_t>(nibble_at(block + 8 + run * 16, p % 2, k)));
    }));
  }
}

inline void add_tq2_0(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t p = 0; p < 16; ++p) {
    pieces.push_back(
        piece_of(half_at(block + 64), [&](std::size_t k) { return two_bits_at(block, p, k) - 1; }));
  }
}

/// E2M1 of the OCP Microscaling specification: a sign, two bits of exponent and one of mantissa.
inline constexpr std::array<float, 16> e2m1_numbers{0,    0.5F,  1,  1.5F,  2,  3,  4,  6,
                                                    -0.F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

inline void add_mxfp4(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t half = 0; half < 2; ++half) {
    pieces.push_back(piece_of(std::ldexp(1.F, block[0] - 127), [&](std::size_t k) {
      return e2m1_numbers.at(static_cast<std::size_t>(nibble_at(block + 1, half, k)));
    }));
  }
}

/// Four scales in E4M3, then for each of them 8 bytes with the nibbles of 16 values.
inline void add_nvfp4(const std::uint8_t* block, Pieces& pieces) {
  for (std::size_t p = 0; p < 4; ++p) {
    const float scale = std::ldexp(static_cast<float>(8 + block[p] % 8), block[p] / 8 % 16 - 10);
    pieces.push_back(piece_of(scale, [&](std::size_t k) {
      return e2m1_numbers.at(static_cast<std::size_t>(nibble_at(block + 4 + p * 8, k / 8, k % 8)));
    }));
  }
}

struct PackedType {
  std::string_view name;
  std::vector<int> scale_bytes;  ///< in a block: the upper ones of binary16, else all
  void (*add)(const std::uint8_t* block, Pieces& pieces);
  /// What makes a random byte part of a finite scale of normal size that is neither huge nor tiny.
  int kept_bits = 0x9F;
  int set_bits = 0x10;
};

inline std::vector<PackedType> packed_types() {
  return {{"Q4_0", {1}, add_q4_0},
          {"Q4_1", {1, 3}, add_q4_1},
          {"Q5_0", {1}, add_q5_0},
          {"Q5_1", {1, 3}, add_q5_1},
          {"Q8_0", {1}, add_q8_0},
          {"Q2_K", {81, 83}, add_q2_k},
          {"Q3_K", {109}, add_q3_k},
          {"Q4_K", {1, 3}, add_q4_k},
          {"Q5_K", {1, 3}, add_q5_k},
          {"Q6_K", {209}, add_q6_k},
          {"IQ4_NL", {1}, add_iq4_nl},
          {"IQ4_XS", {1}, add_iq4_xs},
          {"TQ2_0", {65}, add_tq2_0},
          {"MXFP4", {0}, add_mxfp4, 0x07, 0x78},
          {"NVFP4", {0, 1, 2, 3}, add_nvfp4, 0x3F, 0x20}};
}

}  // namespace hiptool::test
