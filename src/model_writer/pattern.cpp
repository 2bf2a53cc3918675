// SPDX-License-Identifier: MIT
#include "model_writer/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace hiptool::model_writer {
namespace {

constexpr std::uint64_t golden_gamma = 0x9E3779B97F4A7C15u;

// The output function of SplitMix64 (Steele, Lea and Flood 2014), applied to a counter.
constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

std::uint64_t word_at(const Pattern& pattern, std::uint64_t index) {
  return (mix(pattern.seed + (index + 1) * golden_gamma) & pattern.keep) | pattern.set;
}

}  // namespace

std::uint64_t tensor_seed(std::uint64_t seed, std::uint64_t tensor) noexcept {
  return mix(mix(seed + golden_gamma) + (tensor + 1) * golden_gamma);
}

Pattern Pattern::of(const model::GgufType& type, std::uint64_t seed) {
  Pattern pattern;
  pattern.seed = seed;
  pattern.block_bytes = type.entry.block_bits / 8;
  const auto masks = type.scale_masks();
  if (type.entry.block_elements > 1) {
    std::transform(masks.begin(), masks.end(), pattern.scale_bits.begin(),
                   [](const model::ByteMask& mask) {
                     return ByteBits{mask.offset, mask.keep};
                   });
    return pattern;
  }
  // Elements of plain types divide a 64-bit word, so one mask per word suffices.
  for (const model::ByteMask& mask : masks) {
    const auto cleared = static_cast<std::uint8_t>(~mask.keep);
    for (std::uint32_t byte = mask.offset; byte < 8; byte += pattern.block_bytes) {
      pattern.keep &= ~(std::uint64_t{cleared} << (byte * 8));
    }
  }
  return pattern;
}

Pattern Pattern::of(const model::SafetensorsType& type, std::uint64_t seed) {
  Pattern pattern;
  pattern.seed = seed;
  pattern.keep = type.keep;
  pattern.set = type.set;
  return pattern;
}

void Pattern::fill(std::span<std::byte> destination, std::uint64_t offset) const {
  if (destination.empty()) return;
  std::byte* const bytes = destination.data();
  const std::size_t size = destination.size();
  std::size_t done = 0;
  std::uint64_t index = offset / 8;
  if (const std::size_t within = offset % 8; within != 0) {
    const std::uint64_t word = word_at(*this, index++);
    done = std::min<std::size_t>(8 - within, size);
    std::memcpy(bytes, reinterpret_cast<const char*>(&word) + within, done);
  }
  for (; size - done >= 8; done += 8) {
    const std::uint64_t word = word_at(*this, index++);
    std::memcpy(bytes + done, &word, 8);
  }
  if (done < size) {
    const std::uint64_t word = word_at(*this, index);
    std::memcpy(bytes + done, &word, size - done);
  }
  for (const ByteBits& bits : scale_bits) {
    if (bits.keep == 0xFF) continue;
    // The first byte at bits.offset of a block, at or after `offset`.
    std::uint64_t at = offset / block_bytes * block_bytes + bits.offset;
    if (at < offset) at += block_bytes;
    for (; at - offset < size; at += block_bytes) {
      std::byte& byte = bytes[at - offset];
      byte = (byte & std::byte{bits.keep}) | std::byte{bits.set};
    }
  }
}

}  // namespace hiptool::model_writer
