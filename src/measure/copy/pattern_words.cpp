// SPDX-License-Identifier: MIT
#include "measure/copy/pattern_words.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include "system/numa.hpp"

namespace hiptool::measure {
namespace {

constexpr std::uint32_t index_factor = 0x9E3779B1u;
constexpr std::uint32_t high_factor = 0x85EBCA77u;
constexpr std::uint32_t seed_factor = 0xC2B2AE3Du;

// x with x * odd == 1 modulo 2^32: each step of Newton's method doubles the correct bits.
constexpr std::uint32_t inverse(std::uint32_t odd) {
  std::uint32_t x = odd;
  for (int step = 0; step < 5; ++step) x *= 2 - odd * x;
  return x;
}
static_assert(inverse(seed_factor) * seed_factor == 1);

inline std::uint32_t mix(std::uint32_t x) {
  x = (x ^ x >> 15) * high_factor;
  x = (x ^ x >> 13) * seed_factor;
  return x ^ x >> 16;
}

constexpr std::size_t words_per_thread = std::size_t{1} << 20;
constexpr std::size_t most_threads = 8;
constexpr std::size_t block_words = 1024;

struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Calls work(part index, part) for each part of the range, all but the first on own threads.
template <class Work>
std::size_t in_parts(std::size_t count, const Work& work) {
  const std::size_t cores = std::max<std::size_t>(1, system::allowed_cpus().size());
  const std::size_t parts =
      std::clamp<std::size_t>(count / words_per_thread, 1, std::min(cores, most_threads));
  const auto part_at = [&](std::size_t i) {
    return Part{count / parts * i, i + 1 == parts ? count : count / parts * (i + 1)};
  };
  std::vector<std::thread> threads;
  std::size_t started = 1;
  try {
    for (; started < parts; ++started) {
      threads.emplace_back([&work, i = started, part = part_at(started)] { work(i, part); });
    }
  } catch (const std::exception&) {
    // Without another thread this one does the rest.
  }
  work(0, part_at(0));
  for (std::size_t i = started; i < parts; ++i) work(i, part_at(i));
  for (std::thread& thread : threads) thread.join();
  return parts;
}

// Not 0 if a block with one upper half of the index differs; without branches, to be vectorised.
std::uint32_t difference(const std::uint32_t* words, std::size_t count, std::uint32_t low,
                         std::uint32_t base) {
  std::uint32_t bits = 0;
  for (std::uint32_t i = 0; i < count; ++i) bits |= words[i] ^ mix((low + i) * index_factor + base);
  return bits;
}

void check_part(std::span<const std::uint32_t> words, std::uint32_t seed, Part part,
                WrongWords& wrong) {
  for (std::size_t begin = part.begin; begin < part.end; begin += block_words) {
    const std::size_t count = std::min(block_words, part.end - begin);
    const std::uint32_t base =
        static_cast<std::uint32_t>(std::uint64_t{begin} >> 32) * high_factor + seed * seed_factor;
    const bool is_one_half = begin >> 32 == (begin + count - 1) >> 32;
    if (is_one_half &&
        difference(words.data() + begin, count, static_cast<std::uint32_t>(begin), base) == 0) {
      continue;
    }
    for (std::size_t i = begin; i < begin + count; ++i) {
      const std::uint32_t bits = words[i] ^ pattern_word(i, seed);
      if (bits == 0) continue;
      if (wrong.count++ == 0) wrong.first_index = i;
      wrong.xor_bits |= bits;
    }
  }
}

}  // namespace

void WrongWords::add(const WrongWords& later, std::uint64_t begin) noexcept {
  if (later.count == 0) return;
  if (count == 0) first_index = begin + later.first_index;
  count += later.count;
  xor_bits |= later.xor_bits;
}

std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed) noexcept {
  return mix(static_cast<std::uint32_t>(index) * index_factor +
             static_cast<std::uint32_t>(index >> 32) * high_factor + seed * seed_factor);
}

std::uint32_t shifted_seed(std::uint32_t seed, std::uint64_t offset_words) noexcept {
  return seed + static_cast<std::uint32_t>(offset_words) * index_factor * inverse(seed_factor);
}

void write_pattern(std::span<std::uint32_t> words, std::uint32_t seed) {
  in_parts(words.size(), [&](std::size_t, Part part) {
    for (std::size_t i = part.begin; i < part.end; ++i) words[i] = pattern_word(i, seed);
  });
}

namespace {

// Adds up what check(part, wrong) finds in the parts of so many words.
template <class Check>
WrongWords check_in_parts(std::size_t count, const Check& check) {
  std::vector<WrongWords> found(most_threads);
  in_parts(count, [&](std::size_t i, Part part) { check(part, found[i]); });
  WrongWords all;
  for (const WrongWords& wrong : found) all.add(wrong);
  return all;
}

}  // namespace

WrongWords check_pattern(std::span<const std::uint32_t> words, std::uint32_t seed) {
  return check_in_parts(
      words.size(), [&](Part part, WrongWords& wrong) { check_part(words, seed, part, wrong); });
}

WrongWords check_half_pattern(std::span<const std::uint32_t> words, std::uint32_t seed,
                              std::size_t stretch_words, bool is_odd) {
  const std::size_t first = is_odd ? stretch_words : 0;
  return check_in_parts(words.size() / 2, [&](Part part, WrongWords& wrong) {
    // A part has the stretches that begin in it.
    std::size_t begin = (part.begin + stretch_words - 1) / stretch_words * stretch_words;
    for (; begin < part.end; begin += stretch_words) {
      const std::size_t place = 2 * begin + first;
      check_part(words, seed, {place, place + stretch_words}, wrong);
    }
  });
}

}  // namespace hiptool::measure
