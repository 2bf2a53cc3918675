// SPDX-License-Identifier: MIT
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hiptool/model_file.hpp"

namespace hiptool::reference {

/// Whether the elements of a type are real numbers: floats of 8 to 64 bits, and the quantised types
/// of weights.
bool has_values(ElementType type) noexcept;

/// The elements of whole blocks as doubles, without rounding after the file's own numbers. Written
/// for the reference decoder alone, from the layouts that ggml publishes (ggml-common.h,
/// ggml-quants.c, and gguf/quants.py of the Python package): kernels and loaders do not share it.
/// The type must be one that has_values(); the sizes must be of as many blocks.
void to_doubles(ElementType type, std::span<const std::byte> blocks, std::span<double> values);

/// Hugging Face's MXFP4 (transformers' integrations/mxfp4.py): two codes in a byte, the first in
/// its low half, and a power of two for each 16 bytes, whose exponent is 127 larger; 255 is NaN
/// (OCP MX).
void packed_to_doubles(std::span<const std::byte> codes, std::span<const std::byte> exponents,
                       std::span<double> values);

/// One block of a type to its elements. Bytes are as in the file.
using BlockToDoubles = void (*)(const std::uint8_t* block, double* values);

/// The same of many calls with one type, which is looked up once.
class ToDoubles {
 public:
  explicit ToDoubles(ElementType type) noexcept;
  void operator()(std::span<const std::byte> blocks, std::span<double> values) const noexcept;

 private:
  using FloatsToDoubles = void (*)(const std::uint8_t* bytes, std::span<double> values);

  FloatsToDoubles floats_;  // null for quantised types
  BlockToDoubles block_;    // null for the others
  std::size_t block_bytes_;
  std::size_t block_elements_;
};

/// The function for a quantised type, or null.
BlockToDoubles small_block_function(std::string_view type) noexcept;  ///< 32 to 128 elements
BlockToDoubles k_block_function(std::string_view type) noexcept;  ///< Q2_K to Q6_K, TQ1_0, TQ2_0
BlockToDoubles iq_block_function(std::string_view type) noexcept;

inline std::uint32_t bits_16(const std::uint8_t* bytes) noexcept {
  return bytes[0] | std::uint32_t{bytes[1]} << 8;
}
inline std::uint32_t bits_32(const std::uint8_t* bytes) noexcept {
  return bits_16(bytes) | bits_16(bytes + 2) << 16;
}

/// An IEEE 754 number of fewer bits; those with the highest exponent are infinite and NaN.
double small_float(std::uint32_t bits, int exponent_bits, int mantissa_bits) noexcept;
inline double half_at(const std::uint8_t* bytes) noexcept {
  const std::uint32_t bits = bits_16(bytes);
  const std::uint32_t exponent = bits >> 10 & 31;
  if (exponent == 0 || exponent == 31) return small_float(bits, 5, 10);
  // The same number with a wider exponent and mantissa.
  const std::uint64_t magnitude = (bits & 0x7FFF) + ((1023u - 15u) << 10);
  return std::bit_cast<double>(std::uint64_t{bits & 0x8000} << 48 | magnitude << 42);
}

}  // namespace hiptool::reference
