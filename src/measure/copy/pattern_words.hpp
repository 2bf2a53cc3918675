// SPDX-License-Identifier: MIT
/// The pattern that copied data carries, on the host. kernels/pattern.hip defines the same words.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace hiptool::measure {

/// What is wrong with data that should be a pattern. Indices count words of 4 bytes.
struct WrongWords {
  std::uint64_t count = 0;
  std::uint64_t first_index = 0;  ///< only where count is not 0
  std::uint32_t xor_bits = 0;     ///< every bit that is wrong in any word
};

/// The word at an index.
std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed) noexcept;

/// The seed s with pattern_word(i, s) == pattern_word(i + offset, seed) for all i: a source that is
/// written once gives another pattern at each offset. Only while i + offset < 2^32.
std::uint32_t shifted_seed(std::uint32_t seed, std::uint64_t offset_words) noexcept;

/// words[i] = pattern_word(i, seed), by several threads where that helps. Blocks.
void write_pattern(std::span<std::uint32_t> words, std::uint32_t seed);

/// Compares with the pattern, by several threads where that helps. Blocks.
WrongWords check_pattern(std::span<const std::uint32_t> words, std::uint32_t seed);

}  // namespace hiptool::measure
