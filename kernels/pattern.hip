// SPDX-License-Identifier: MIT
// Fills memory with a word that depends on its index, and finds the words that differ.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

// The word at an index, all arithmetic modulo 2^32:
//   x = (low half of index) * 0x9E3779B1 + (high half of index) * 0x85EBCA77 + seed * 0xC2B2AE3D
//   x ^= x >> 15;  x *= 0x85EBCA77;  x ^= x >> 13;  x *= 0xC2B2AE3D;  x ^= x >> 16
// For one seed and one high half it is a bijection of the low half, so no two words within 16 GiB
// are equal: data at a wrong address is always detected.
inline __device__ uint32_t pattern_word(uint64_t index, uint32_t seed) {
  const uint32_t x = static_cast<uint32_t>(index) * 0x9E3779B1U +
                     static_cast<uint32_t>(index >> 32) * 0x85EBCA77U + seed * 0xC2B2AE3DU;
  return mix_bits(x);
}

// Words of one kind of `count`, and where they are.
struct AllWords {
  uint64_t count;
  __device__ uint64_t place(uint64_t i) const { return i; }
};
// Every second stretch, from that place on. A stretch is a power of two.
struct WordsOfStretches {
  uint64_t count;
  uint32_t stretch;
  uint32_t first;
  __device__ uint64_t place(uint64_t i) const {
    const uint64_t within = i & (stretch - 1);
    return 2 * (i - within) + first + within;
  }
};

template <class Words>
inline __device__ void check_words(const uint32_t* in, Words words, uint32_t seed,
                                   uint64_t* result) {
  const uint64_t stride = unit_stride();
  uint64_t i = first_unit();
  uint64_t wrong = 0;
  uint64_t first = ~static_cast<uint64_t>(0);
  uint32_t bits = 0;
  for (; i < words.count; i += stride) {
    const uint64_t place = words.place(i);
    const uint32_t difference = in[place] ^ pattern_word(place, seed);
    if (difference == 0) continue;
    if (wrong == 0) first = place;
    ++wrong;
    bits |= difference;
  }
  if (wrong == 0) return;
  atomicAdd(&result[0], wrong);
  atomicMin(&result[1], first);
  atomicOr(&result[2], static_cast<uint64_t>(bits));
}

}  // namespace

// out[i] = the word at i, for i in [0, count)
extern "C" __global__ void __launch_bounds__(256)
    hiptool_pattern_write(uint32_t* out, uint64_t count, uint32_t seed) {
  const uint64_t stride = unit_stride();
  uint64_t i = first_unit();
  for (; i < count; i += stride) out[i] = pattern_word(i, seed);
}

// Adds the number of wrong words to result[0], lowers result[1] to the first index among them, and
// sets in result[2] every bit that is wrong in any. The caller begins with {0, ~0, 0}.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_pattern_check(const uint32_t* in, uint64_t count, uint32_t seed, uint64_t* result) {
  check_words(in, AllWords{count}, seed, result);
}

// The same for `count` words in every second stretch, from the place `first` on, which is 0 or the
// length of a stretch.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_pattern_check_stretches(const uint32_t* in, uint64_t count, uint32_t seed,
                                    uint32_t stretch, uint32_t first, uint64_t* result) {
  check_words(in, WordsOfStretches{count, stretch, first}, seed, result);
}

HIPTOOL_EXPORT(hiptool_pattern_write);
HIPTOOL_EXPORT(hiptool_pattern_check);
HIPTOOL_EXPORT(hiptool_pattern_check_stretches);
