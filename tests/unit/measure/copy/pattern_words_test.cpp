// SPDX-License-Identifier: MIT
#include "measure/copy/pattern_words.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "hip/cpu/kernel_table.hpp"
#include "kernel_store/references.hpp"

using namespace hiptool;
using measure::check_half_pattern;
using measure::check_pattern;
using measure::pattern_word;
using measure::shifted_seed;
using measure::write_pattern;
using measure::WrongWords;

namespace {

// Enough for several threads.
constexpr std::size_t many = std::size_t{3} << 20;

}  // namespace

TEST_CASE("pattern words: those of the kernel") {
  std::vector<std::uint32_t> expected(1000);
  std::uint32_t* out = expected.data();
  std::uint64_t count = expected.size();
  std::uint32_t seed = 77;
  void* arguments[] = {&out, &count, &seed};
  kernel_store::register_references();
  hip::cpu::find_native("hiptool_pattern_write")({}, {}, arguments);
  std::vector<std::uint32_t> words(1000);
  write_pattern(words, seed);
  CHECK(words == expected);
}

TEST_CASE("pattern words: a shifted seed is the same pattern further on") {
  for (const std::uint64_t offset : {1u, 1024u, 261'120u, 0x7fff'ffffu}) {
    for (const std::uint32_t seed : {0u, 1u, 0xffff'ffffu}) {
      CAPTURE(offset);
      CAPTURE(seed);
      const std::uint32_t shifted = shifted_seed(seed, offset);
      for (const std::uint64_t i : {0u, 1u, 12'345u}) {
        CHECK(pattern_word(i, shifted) == pattern_word(i + offset, seed));
      }
      CHECK(shifted != seed);
    }
  }
}

TEST_CASE(
    "pattern words: every sample's pattern differs from the others at every place looked at") {
  for (const std::uint64_t i : {0u, 5u, 4096u}) {
    std::set<std::uint32_t> words;
    for (std::uint64_t sample = 0; sample < 256; ++sample) {
      words.insert(pattern_word(i, shifted_seed(9, sample * 1024)));
    }
    CHECK(words.size() == 256);
  }
}

TEST_CASE("pattern words: what is wrong is counted, and the first of all threads is told") {
  std::vector<std::uint32_t> words(many + 5);
  write_pattern(words, 3);
  CHECK(check_pattern(words, 3).count == 0);
  CHECK(check_pattern(words, 4).count == words.size());
  words[many + 4] ^= 0x8000'0000u;
  words[many - 1] ^= 0x10u;
  words[1500] ^= 0x1u;
  const WrongWords wrong = check_pattern(words, 3);
  CHECK(wrong.count == 3);
  CHECK(wrong.first_index == 1500);
  CHECK(wrong.xor_bits == 0x8000'0011u);
  CHECK(check_pattern({}, 3).count == 0);
}

TEST_CASE("pattern words: of stretches every second one is compared") {
  constexpr std::size_t stretch = 256;
  const std::size_t size = (many / stretch + 2) / 2 * 2 * stretch;
  std::vector<std::uint32_t> words(size);
  write_pattern(words, 3);
  const auto check = [&](bool is_odd) { return check_half_pattern(words, 3, stretch, is_odd); };
  CHECK(check(false).count == 0);
  CHECK(check(true).count == 0);
  CHECK(check_half_pattern(words, 4, stretch, true).count == size / 2);
  words[0] ^= 1;
  words[size - 1] ^= 2;
  words[stretch] ^= 4;
  CHECK(check(false).count == 1);
  CHECK(check(false).first_index == 0);
  CHECK(check(true).count == 2);
  CHECK(check(true).first_index == stretch);
  CHECK(check(true).xor_bits == 6);
}
