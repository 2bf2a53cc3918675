// SPDX-License-Identifier: MIT
/// The pattern of copied data on the host, the same as in kernels/pattern.hip.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hiptool::measure {

/// Differences of data from the pattern. Indices count words of 4 bytes.
struct WrongWords {
  std::uint64_t count = 0;
  std::uint64_t first_index = 0;  ///< only where count is not 0
  std::uint32_t xor_bits = 0;     ///< all bits that are wrong in any word

  /// Adds the words of later data, whose first word has the index `begin`.
  void add(const WrongWords& later, std::uint64_t begin = 0) noexcept;
};

/// The word at an index.
std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed) noexcept;

/// The seed s with pattern_word(i, s) == pattern_word(i + offset, seed) for i + offset < 2^32: a
/// source that is written once has another pattern at each offset.
std::uint32_t shifted_seed(std::uint32_t seed, std::uint64_t offset_words) noexcept;

/// words[i] = pattern_word(i, seed), with several threads for many words. Blocks.
void write_pattern(std::span<std::uint32_t> words, std::uint32_t seed);

/// Compares with the pattern, with several threads for many words. Blocks.
WrongWords check_pattern(std::span<const std::uint32_t> words, std::uint32_t seed);

/// The same for every second stretch of that many words: the odd ones, or the even ones. The words
/// are a multiple of two stretches.
WrongWords check_half_pattern(std::span<const std::uint32_t> words, std::uint32_t seed,
                              std::size_t stretch_words, bool is_odd);

}  // namespace hiptool::measure
