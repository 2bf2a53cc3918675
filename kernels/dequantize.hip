// SPDX-License-Identifier: MIT
// The quantised types of GGUF to f32, bit for bit as ggml defines them (ggml-common.h and
// ggml-quants.c): every operation rounds at the same place.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

enum Type : uint32_t {
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  iq1_m = 29,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
  q2_0 = 42
};

// Offsets of the grids of these types in the table passed by the host.
constexpr uint32_t iq2_xxs_grid = 0;
constexpr uint32_t iq2_xs_grid = 256;
constexpr uint32_t iq2_s_grid = 768;
constexpr uint32_t iq3_xxs_grid = 1792;
constexpr uint32_t iq3_s_grid = 2048;
constexpr uint32_t iq1_grid = 2560;

// Number i of sixteen 8-bit numbers in registers: a table in memory was slower.
inline __device__ float pick(uint64_t low, uint64_t high, uint32_t i) {
  return static_cast<float>(static_cast<int8_t>((i < 8 ? low : high) >> (i % 8 * 8)));
}

// -127 -104 -83 -65 -49 -35 -22 -10, 1 13 25 38 53 69 89 113
inline __device__ float iq4_number(uint32_t i) {
  return pick(0xF6EADDCFBFAD9881U, 0x7159453526190D01U, i);
}
// E2M1, doubled: 0 1 2 3 4 6 8 12, and the same below 0
inline __device__ float fp4_number(uint32_t i) {
  return pick(0x0C08060403020100U, 0xF4F8FAFCFDFEFF00U, i);
}

struct Place {
  const uint8_t* block;
  const uint16_t* grids;
  uint32_t i;  // of the value in the block
};

inline __device__ float half_at(const uint8_t* at) { return f16_to_operand(read_16(at)); }

inline __device__ float number(uint32_t value) { return static_cast<float>(value); }
inline __device__ float signed_number(uint32_t value, int offset) {
  return static_cast<float>(static_cast<int>(value) - offset);
}

// Nibble n of bytes, the lower one first.
inline __device__ uint32_t nibble(const uint8_t* bytes, uint32_t n) {
  return bytes[n / 2] >> (n % 2 * 4) & 15U;
}
// Value i of `bits` bits (1 or 2), neighbours in one byte, the first in its lowest bits.
inline __device__ uint32_t bits_at(const uint8_t* bytes, uint32_t i, uint32_t bits) {
  const uint32_t in_byte = 8 / bits;
  return bytes[i / in_byte] >> (i % in_byte * bits) & ((1U << bits) - 1);
}
// Value i of 16 bytes: first all lower nibbles, then all upper ones.
inline __device__ uint32_t halves(const uint8_t* bytes, uint32_t i) {
  return bytes[i % 16] >> (i / 16 * 4) & 15U;
}
// Value i of 128 2-bit values in 32 bytes, first the lowest bits of all bytes.
inline __device__ uint32_t quarters(const uint8_t* bytes, uint32_t i) {
  return bytes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3U;
}

inline __device__ float q5(const Place& p, uint32_t high_at, bool has_minimum) {
  const uint32_t high = read_32(p.block + high_at) >> p.i & 1U;
  const uint32_t q = halves(p.block + high_at + 4, p.i) | high << 4;
  const float d = half_at(p.block);
  if (!has_minimum) return d * signed_number(q, 16);
  return d * number(q) + half_at(p.block + 2);
}

inline __device__ float q3_k_value(const Place& p) {
  const uint8_t* const scales = p.block + 96;
  const uint32_t s = p.i / 16;
  const uint32_t low = scales[s % 8] >> (s / 8 * 4) & 15U;
  const uint32_t high = scales[8 + s % 4] >> (s / 4 * 2) & 3U;
  const uint32_t has_offset = (p.block[p.i % 32] >> (p.i / 32) & 1U) ^ 1U;
  const float scale = half_at(p.block + 108) * signed_number(low | high << 4, 32);
  return scale * signed_number(quarters(p.block + 32, p.i), static_cast<int>(has_offset * 4));
}

// Q4_K and Q5_K: eight scales and eight minima of 6 bits each.
inline __device__ float scaled(const Place& p, uint32_t q) {
  const uint8_t* const packed = p.block + 4;
  const uint32_t g = p.i / 32;
  uint32_t scale = packed[g % 4];
  uint32_t minimum = packed[4 + g % 4];
  if (g < 4) {
    scale &= 63U;
    minimum &= 63U;
  } else {
    const uint32_t low = packed[4 + g];
    scale = (low & 15U) | (scale >> 2 & 48U);
    minimum = low >> 4 | (minimum >> 2 & 48U);
  }
  const float step = half_at(p.block) * number(scale);
  return step * number(q) - half_at(p.block + 2) * number(minimum);
}

inline __device__ uint32_t k_nibble(const Place& p, uint32_t at) {
  return p.block[at + p.i / 64 * 32 + p.i % 32] >> (p.i / 32 % 2 * 4) & 15U;
}

inline __device__ float q6_k_value(const Place& p) {
  const uint32_t j = p.i % 128;
  const uint32_t low = p.block[p.i / 128 * 64 + j % 64] >> (j / 64 * 4) & 15U;
  const uint32_t q = low | quarters(p.block + 128, p.i) << 4;
  const uint32_t scale = (p.block[192 + p.i / 16] ^ 128U);
  return half_at(p.block + 208) * signed_number(scale, 128) * signed_number(q, 32);
}

// Five values per byte, as digits of a fraction in base 3.
inline __device__ float tq1_value(const Place& p) {
  uint32_t at = p.i % 32;
  uint32_t digit = p.i / 32;
  if (p.i >= 240) {
    at = 48 + p.i % 4;
    digit = (p.i - 240) / 4;
  } else if (p.i >= 160) {
    at = 32 + p.i % 16;
    digit = (p.i - 160) / 16;
  }
  uint32_t byte = p.block[at];
  for (; digit > 0; --digit) byte = byte * 3 & 255U;
  return half_at(p.block + 52) * signed_number(byte * 3 >> 8, 1);
}

inline __device__ float mxfp4_value(const Place& p) {
  const uint32_t e = p.block[0];
  const float half_scale = __uint_as_float(e < 2 ? 0x00200000U << e : (e - 1) << 23);
  return half_scale * fp4_number(halves(p.block + 1, p.i));
}

inline __device__ float nvfp4_value(const Place& p) {
  const uint32_t code = p.block[p.i / 16];
  const uint32_t exponent = code >> 3 & 15U;
  const uint32_t fraction = code & 7U;
  // Normal numbers have the bits of a binary32 whose exponent is 120 larger; one less for the half.
  float scale = __uint_as_float((exponent + 119) << 23 | fraction << 20);
  if (exponent == 0) scale = number(fraction) * 0x1p-10F;
  if (code == 0x7FU) scale = 0;
  const uint32_t k = p.i % 16;
  const uint32_t q = p.block[4 + p.i / 16 * 8 + k % 8] >> (k / 8 * 4) & 15U;
  return scale * fp4_number(q);
}

// 1 or -1. There are 128 patterns of eight signs: the last sign makes their number even.
inline __device__ float sign_of(uint32_t signs, uint32_t j) {
  return (signs >> j & 1U) != 0 ? -1.0F : 1.0F;
}
inline __device__ float even_sign(uint32_t signs, uint32_t j) {
  uint32_t parity = signs ^ signs >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return sign_of(signs | (parity & 1U) << 7, j);
}

inline __device__ float iq2_grid(const Place& p, uint32_t index) {
  const uint32_t code = p.grids[index] >> (p.i % 8 * 2) & 3U;
  return code == 0 ? 8.0F : code == 1 ? 25.0F : 43.0F;
}
inline __device__ float iq3_grid(const Place& p, uint32_t index) {
  return number(p.grids[index] >> (p.i % 4 * 4) & 15U);
}

inline __device__ float iq2_value(const Place& p, uint32_t type) {
  const uint32_t at = p.i / 8;
  uint32_t scale = 0;
  uint32_t index = 0;
  float sign = 0;
  if (type == iq2_xxs) {
    const uint8_t* const group = p.block + 2 + p.i / 32 * 8;
    const uint32_t packed = read_32(group + 4);
    scale = packed >> 28;
    index = iq2_xxs_grid + group[at % 4];
    sign = even_sign(packed >> (at % 4 * 7) & 127U, p.i % 8);
  } else if (type == iq2_xs) {
    const uint32_t q = read_16(p.block + 2 + 2 * at);
    scale = nibble(p.block + 66, p.i / 16);
    index = iq2_xs_grid + (q & 511U);
    sign = even_sign(q >> 9, p.i % 8);
  } else {
    const uint32_t high = p.block[66 + p.i / 32] >> (at % 4 * 2) & 3U;
    scale = nibble(p.block + 74, p.i / 16);
    index = iq2_s_grid + (p.block[2 + at] | high << 8);
    sign = sign_of(p.block[34 + at], p.i % 8);
  }
  return half_at(p.block) * (0.5F + number(scale)) * 0.25F * iq2_grid(p, index) * sign;
}

// The values are 8 n + 4 for n of the table, except that the largest is 62.
inline __device__ float iq3_xxs_value(const Place& p) {
  const uint32_t packed = read_32(p.block + 66 + p.i / 32 * 4);
  const float scale = half_at(p.block) * (0.5F + number(packed >> 28)) * 0.5F;
  const float n = iq3_grid(p, iq3_xxs_grid + p.block[2 + p.i / 4]);
  const float value = n == 7.0F ? 62.0F : 8.0F * n + 4.0F;
  return scale * value * even_sign(packed >> (p.i / 8 % 4 * 7) & 127U, p.i % 8);
}

inline __device__ float iq3_s_value(const Place& p) {
  const uint32_t high = p.block[66 + p.i / 32] >> (p.i / 4 % 8) & 1U;
  const uint32_t index = iq3_s_grid + (p.block[2 + p.i / 4] | high << 8);
  const float scale = half_at(p.block) * number(1 + 2 * nibble(p.block + 106, p.i / 32));
  return scale * iq3_grid(p, index) * sign_of(p.block[74 + p.i / 8], p.i % 8);
}

inline __device__ float iq1_value(const Place& p, float scale, uint32_t index, bool is_below) {
  const float code = signed_number(p.grids[iq1_grid + index] >> (p.i % 8 * 2) & 3U, 1);
  return scale * (code + (is_below ? -0.125F : 0.125F));
}

inline __device__ float iq1_s_value(const Place& p) {
  const uint32_t high = read_16(p.block + 34 + p.i / 32 * 2);
  const uint32_t at = p.i / 8;
  const uint32_t index = p.block[2 + at] | (high >> (at % 4 * 3) & 7U) << 8;
  const float scale = half_at(p.block) * number(2 * (high >> 12 & 7U) + 1);
  return iq1_value(p, scale, index, (high & 0x8000U) != 0);
}

inline __device__ float iq1_m_value(const Place& p) {
  const uint8_t* const scales = p.block + 48;
  uint32_t d = 0;
  for (uint32_t k = 0; k < 4; ++k) d |= static_cast<uint32_t>(scales[2 * k + 1] >> 4) << (4 * k);
  const uint32_t scale = read_16(scales + p.i / 64 * 2) >> (p.i / 16 % 4 * 3) & 7U;
  const uint32_t high = nibble(p.block + 32, p.i / 8);
  const uint32_t index = p.block[p.i / 8] | (high & 7U) << 8;
  return iq1_value(p, f16_to_operand(d) * number(2 * scale + 1), index, (high & 8U) != 0);
}

inline __device__ float iq4_xs_value(const Place& p) {
  const uint32_t g = p.i / 32;
  const uint32_t high = read_16(p.block + 2) >> (2 * g) & 3U;
  const float scale = half_at(p.block) * signed_number(nibble(p.block + 4, g) | high << 4, 32);
  const uint32_t q = halves(p.block + 8 + g * 16, p.i % 32);
  return scale * iq4_number(q);
}

inline __device__ float q2_k_value(const Place& p) {
  const uint32_t scale = p.block[p.i / 16];
  const float step = half_at(p.block + 80) * number(scale & 15U);
  const float minimum = half_at(p.block + 82) * number(scale >> 4);
  return step * number(quarters(p.block + 16, p.i)) - minimum;
}

inline __device__ float value_of(const Place& p, uint32_t type) {
  const uint8_t* const block = p.block;
  switch (type) {
    case q4_0: return half_at(block) * signed_number(halves(block + 2, p.i), 8);
    case q4_1: return half_at(block) * number(halves(block + 4, p.i)) + half_at(block + 2);
    case q5_0: return q5(p, 2, false);
    case q5_1: return q5(p, 4, true);
    case q8_0: return half_at(block) * signed_number(block[2 + p.i] ^ 128U, 128);
    case q2_k: return q2_k_value(p);
    case q3_k: return q3_k_value(p);
    case q4_k: return scaled(p, k_nibble(p, 16));
    case q5_k: return scaled(p, k_nibble(p, 48) | (block[16 + p.i % 32] >> (p.i / 32) & 1U) << 4);
    case q6_k: return q6_k_value(p);
    case iq2_xxs:
    case iq2_xs:
    case iq2_s: return iq2_value(p, type);
    case iq3_xxs: return iq3_xxs_value(p);
    case iq3_s: return iq3_s_value(p);
    case iq1_s: return iq1_s_value(p);
    case iq1_m: return iq1_m_value(p);
    case iq4_nl: return half_at(block) * iq4_number(halves(block + 2, p.i));
    case iq4_xs: return iq4_xs_value(p);
    case tq1_0: return tq1_value(p);
    case tq2_0: return half_at(block + 64) * signed_number(quarters(block, p.i), 1);
    case mxfp4: return mxfp4_value(p);
    case nvfp4: return nvfp4_value(p);
    // A bit is the sign: 0 for -scale, 1 for +scale.
    case q1_0: return half_at(block) * signed_number(bits_at(block + 2, p.i, 1) * 2, 1);
    case q2_0: return half_at(block) * signed_number(bits_at(block + 2, p.i, 2), 1);
    default: return 0;
  }
}

}  // namespace

// out[0 .. count) = the values of the blocks. `shape` is the number of values in a block times 2^16
// plus its bytes, `type` ggml's number. `count` is a multiple of 4, and the number of values in a
// block is a power of two, 4 at least.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_dequantize(const uint8_t* blocks, const uint16_t* grids, uint4* out, uint64_t count,
                       uint32_t type, uint32_t shape) {
  const uint64_t stride = unit_stride();
  uint64_t unit = first_unit();
  const uint32_t values = shape >> 16;
  const uint32_t block_bytes = shape & 0xFFFFU;
  // The number per block is a power of two; avoiding a 64-bit division saves a tenth of the time.
  uint32_t shift = 0;
  while (values >> shift > 1) ++shift;
  for (; unit < count / 4; unit += stride) {
    const uint64_t first = unit * 4;
    Place place = {blocks + (first >> shift) * block_bytes, grids,
                   static_cast<uint32_t>(first) & (values - 1)};
    uint4 numbers;
    // Not unrolled, because the code is long.
#pragma unroll 1
    for (uint32_t k = 0; k < 4; ++k, ++place.i) {
      const uint32_t bits = __float_as_uint(value_of(place, type));
      if (k == 0) numbers.x = bits;
      if (k == 1) numbers.y = bits;
      if (k == 2) numbers.z = bits;
      if (k == 3) numbers.w = bits;
    }
    out[unit] = numbers;
  }
}

HIPTOOL_EXPORT(hiptool_dequantize);
