// SPDX-License-Identifier: MIT
// Tests of memory: every word is written with what its test expects there, and read back.
#include <hip/hip_runtime.h>

namespace {

enum Test : uint32_t {
  walking_ones = 0,  // one bit set, another one in the next word and in the next pass
  own_address = 1,   // low half of the word's own index, plus the pass
  inversions = 2,    // the same byte everywhere; another one in each pass
  random_words = 3,  // a mixed number of index and pass
  modulo_20 = 4      // one word of twenty; the others hold its complement
};

inline __device__ uint32_t word_at(uint32_t test, uint64_t index, uint32_t pass) {
  const uint32_t low = static_cast<uint32_t>(index);
  if (test == walking_ones) return static_cast<uint32_t>(1) << ((low + pass) % 32);
  if (test == own_address) return low + pass;
  if (test == inversions) return (pass * 0x35U & 0xFFU) * 0x01010101U;
  if (test == modulo_20) return index % 20 == pass % 20 ? 0x5A5AA5A5U : 0xA5A55A5AU;
  uint32_t x =
      low * 0x9E3779B1U + static_cast<uint32_t>(index >> 32) * 0x85EBCA77U + pass * 0xC2B2AE3DU;
  x = (x ^ x >> 15) * 0x85EBCA77U;
  x = (x ^ x >> 13) * 0xC2B2AE3DU;
  return x ^ x >> 16;
}

struct Found {
  uint64_t wrong;
  uint64_t first;
  uint32_t bits;
};

inline __device__ void compare(uint32_t got, uint32_t expected, uint64_t index, Found& found) {
  const uint32_t difference = got ^ expected;
  if (difference == 0) return;
  if (found.wrong == 0) found.first = index;
  ++found.wrong;
  found.bits |= difference;
}

inline __device__ void tell(const Found& found, uint64_t* result) {
  if (found.wrong == 0) return;
  atomicAdd(&result[0], found.wrong);
  atomicMin(&result[1], found.first);
  atomicOr(&result[2], static_cast<uint64_t>(found.bits));
}

inline __device__ uint4 unit_at(uint32_t test, uint64_t unit, uint32_t pass, uint32_t flip) {
  uint4 words;
  words.x = word_at(test, 4 * unit, pass) ^ flip;
  words.y = word_at(test, 4 * unit + 1, pass) ^ flip;
  words.z = word_at(test, 4 * unit + 2, pass) ^ flip;
  words.w = word_at(test, 4 * unit + 3, pass) ^ flip;
  return words;
}

}  // namespace

// Writes what the test expects in this pass, xored with `flip`; `count` is in units of four words.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_memtest_write(uint4* out, uint64_t count, uint32_t test, uint32_t pass, uint32_t flip) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) out[i] = unit_at(test, i, pass, flip);
}

// Compares with the same and, where `invert` is not 0, leaves the complement of what is expected.
// Adds the number of wrong words to result[0], lowers result[1] to the first index among them and
// sets in result[2] every bit that is wrong in any. The caller begins with {0, ~0, 0}.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_memtest_check(uint4* data, uint64_t count, uint32_t test, uint32_t pass, uint32_t flip,
                          uint32_t invert, uint64_t* result) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  Found found = {0, ~static_cast<uint64_t>(0), 0};
  for (; i < count; i += stride) {
    const uint4 expected = unit_at(test, i, pass, flip);
    const uint4 got = data[i];
    compare(got.x, expected.x, 4 * i, found);
    compare(got.y, expected.y, 4 * i + 1, found);
    compare(got.z, expected.z, 4 * i + 2, found);
    compare(got.w, expected.w, 4 * i + 3, found);
    if (invert != 0) data[i] = unit_at(test, i, pass, ~flip);
  }
  tell(found, result);
}

HIPTOOL_EXPORT(hiptool_memtest_write);
HIPTOOL_EXPORT(hiptool_memtest_check);
