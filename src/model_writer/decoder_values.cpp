// SPDX-License-Identifier: MIT
#include "model_writer/decoder_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "model/element_types.hpp"

namespace hiptool::model_writer {
namespace {

/// A floating-point type: the numbers of bits of its fields and the bias of its exponent.
struct FloatFields {
  std::string_view name;
  int width, exponent, mantissa, bias;
};

constexpr std::array<FloatFields, 8> float_fields{{{"F64", 64, 11, 52, 1023},
                                                   {"F32", 32, 8, 23, 127},
                                                   {"F16", 16, 5, 10, 15},
                                                   {"BF16", 16, 8, 7, 127},
                                                   {"F8_E4M3", 8, 4, 3, 7},
                                                   {"F8_E5M2", 8, 5, 2, 15},
                                                   {"F8_E4M3FNUZ", 8, 4, 3, 8},
                                                   {"F8_E5M2FNUZ", 8, 5, 2, 16}}};

/// A type of blocks: log2 of the root mean square of random blocks whose scale is in [1, 2). The
/// second of two scales belongs to a minimum, 2^minimum_shift times as large, so that the mean is
/// near 0.
struct BlockFields {
  std::string_view name;
  double unit_log2;
  int minimum_shift = 0;
  bool is_minimum_negative = false;  ///< it is added, not subtracted
};

constexpr BlockFields block_fields[] = {
    {"Q4_0", 2.8},    {"Q4_1", 3.0, 3, true}, {"Q5_0", 3.8},    {"Q5_1", 4.0, 4, true},
    {"Q8_0", 6.8},    {"Q2_K", 4.6, 1},       {"Q3_K", 6.1},    {"Q4_K", 8.7, 3},
    {"Q5_K", 9.7, 4}, {"Q6_K", 11.0},         {"IQ2_XXS", 6.4}, {"IQ2_XS", 6.4},
    {"IQ3_XXS", 7.8}, {"IQ1_S", 3.5},         {"IQ4_NL", 6.7},  {"IQ3_S", 7.7},
    {"IQ2_S", 6.4},   {"IQ4_XS", 10.9},       {"IQ1_M", 3.5},   {"TQ1_0", 0.3},
    {"TQ2_0", 0.9},   {"MXFP4", 1.6},         {"NVFP4", 2.1},   {"Q1_0", 0.6},
    {"Q2_0", 0.9}};

template <typename Table>
auto find_fields(const Table& table, std::string_view name) {
  const auto found =
      std::ranges::find_if(table, [&](const auto& fields) { return fields.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

Pattern float_pattern(const FloatFields& fields, int magnitude, bool is_positive) {
  const std::uint64_t mantissa = (std::uint64_t{1} << fields.mantissa) - 1;
  const std::uint64_t sign = std::uint64_t{is_positive ? 0u : 1u} << (fields.width - 1);
  const int most = (1 << fields.exponent) - 2;
  const auto exponent = static_cast<std::uint64_t>(std::clamp(magnitude + fields.bias, 1, most));
  Pattern pattern;
  pattern.keep = 0;
  for (int at = 0; at < 64; at += fields.width) {
    pattern.keep |= (mantissa | sign) << at;
    pattern.set |= (exponent << fields.mantissa) << at;
  }
  return pattern;
}

// The high byte of an F16: sign, five bits of the exponent and two of the mantissa, which stay
// random.
ByteBits half_bits(std::uint16_t at, int exponent, bool is_negative = false) {
  const int biased = std::clamp(exponent + 15, 1, 30);
  const int set = (biased << 2) | (is_negative ? 0x80 : 0);
  return {static_cast<std::uint16_t>(at + 1), 0x03, static_cast<std::uint8_t>(set)};
}

std::array<ByteBits, 4> block_bits(const model::GgufType& type, const BlockFields& fields,
                                   int exponent) {
  std::array<ByteBits, 4> bits{};
  switch (type.format) {
    case model::ScaleFormat::half:
      if (type.scale_count > 1) {
        exponent = std::max(exponent, -14);
        bits[1] = half_bits(static_cast<std::uint16_t>(type.scale_at + 2),
                            exponent + fields.minimum_shift, fields.is_minimum_negative);
      }
      bits[0] = half_bits(type.scale_at, exponent);
      break;
    case model::ScaleFormat::spread_half: {
      // The F16 of IQ1_M: a nibble in the top of each of four u16 at 48, the highest last.
      const int biased = std::clamp(exponent + 15, 1, 30);
      bits[0] = {55, 0x0F, static_cast<std::uint8_t>((biased >> 2) << 4)};
      bits[1] = {53, 0x3F, static_cast<std::uint8_t>((biased & 3) << 6)};
      break;
    }
    case model::ScaleFormat::e8m0:
      bits[0] = {0, 0, static_cast<std::uint8_t>(127 + exponent)};
      break;
    case model::ScaleFormat::ue4m3:
      for (std::uint16_t at = 0; at < type.scale_count; ++at) {
        const int biased = std::clamp(exponent + 7, 1, 14);
        bits[at] = {at, 0x07, static_cast<std::uint8_t>(biased << 3)};
      }
      break;
    default: break;
  }
  return bits;
}

}  // namespace

bool can_be_weights(std::string_view type) {
  return find_fields(float_fields, type) != nullptr || find_fields(block_fields, type) != nullptr;
}

std::vector<std::string_view> weight_types(bool is_gguf) {
  std::vector<std::string_view> names;
  const auto add = [&](const auto& types) {
    for (const auto& type : types) {
      if (can_be_weights(type.entry.name)) names.push_back(type.entry.name);
    }
  };
  if (is_gguf) {
    add(model::gguf_types());
  } else {
    add(model::safetensors_types());
  }
  return names;
}

int packed_exponent(int magnitude) {
  const double unit = find_fields(block_fields, "MXFP4")->unit_log2;
  return 127 + static_cast<int>(std::lround(magnitude + 0.6 - unit));
}

Pattern weight_pattern(std::string_view type, std::uint32_t block_bytes, std::uint64_t seed,
                       int magnitude, bool is_positive) {
  Pattern pattern;
  if (const FloatFields* fields = find_fields(float_fields, type)) {
    pattern = float_pattern(*fields, magnitude, is_positive);
  } else if (const BlockFields* block = find_fields(block_fields, type)) {
    const int exponent = static_cast<int>(std::lround(magnitude + 0.6 - block->unit_log2));
    pattern.scale_bits = block_bits(*model::find_gguf_type(type), *block, exponent);
  }
  pattern.seed = seed;
  pattern.block_bytes = block_bytes;
  return pattern;
}

}  // namespace hiptool::model_writer
