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
  const uint64_t stride = unit_stride();
  uint64_t i = first_unit();
  uint64_t wrong = 0;
  uint64_t first = ~static_cast<uint64_t>(0);
  uint32_t bits = 0;
  for (; i < count; i += stride) {
    const uint32_t difference = in[i] ^ pattern_word(i, seed);
    if (difference == 0) continue;
    if (wrong == 0) first = i;
    ++wrong;
    bits |= difference;
  }
  if (wrong == 0) return;
  atomicAdd(&result[0], wrong);
  atomicMin(&result[1], first);
  atomicOr(&result[2], static_cast<uint64_t>(bits));
}

HIPTOOL_EXPORT(hiptool_pattern_write);
HIPTOOL_EXPORT(hiptool_pattern_check);
