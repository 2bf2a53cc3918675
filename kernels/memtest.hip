// SPDX-License-Identifier: MIT
// Memory tests: write the expected value of every word, read it back.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

enum Test : uint32_t {
  walking_ones = 0,  // one bit set, another one in the next word and in the next pass
  own_address = 1,   // low half of the word's own index, plus the pass
  inversions = 2,    // the same byte everywhere; another one in each pass
  random_words = 3,  // a mixed number of index and pass
  modulo_20 = 4      // one word of twenty; the others hold its complement
};

// unit % 5 with 32-bit divisions, since 2^32 % 5 is 1.
inline __device__ uint32_t modulo_5(uint64_t unit) {
  return (static_cast<uint32_t>(unit) % 5U + static_cast<uint32_t>(unit >> 32) % 5U) % 5U;
}

// The words 4 unit to 4 unit + 3. The test is a template parameter: selecting it per word took 1.5
// to 2 times as long on an H200.
template <uint32_t test>
inline __device__ uint4 unit_at(uint64_t unit, uint32_t pass, uint32_t flip) {
  const uint32_t low = static_cast<uint32_t>(4 * unit);
  uint32_t words[4];
  if (test == random_words) {
    const uint32_t first =
        low * 0x9E3779B1U + static_cast<uint32_t>(unit >> 30) * 0x85EBCA77U + pass * 0xC2B2AE3DU;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) words[k] = mix_bits(first + k * 0x9E3779B1U);
  } else if (test == modulo_20) {
    const uint32_t place = 4 * modulo_5(unit);
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      words[k] = place + k == pass % 20U ? 0x5A5AA5A5U : 0xA5A55A5AU;
    }
  } else {
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      words[k] = test == walking_ones  ? static_cast<uint32_t>(1) << ((low + k + pass) % 32)
                 : test == own_address ? low + k + pass
                                       : (pass * 0x35U & 0xFFU) * 0x01010101U;
    }
  }
  return make_unit(words[0] ^ flip, words[1] ^ flip, words[2] ^ flip, words[3] ^ flip);
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

struct Write {
  uint4* out;
  uint64_t count;
  uint32_t pass;
  uint32_t flip;

  template <uint32_t test>
  __device__ void run() const {
    for (uint64_t i = first_unit(); i < count; i += unit_stride()) {
      out[i] = unit_at<test>(i, pass, flip);
    }
  }
};

struct Check {
  uint4* data;
  uint64_t count;
  uint32_t pass;
  uint32_t flip;
  uint32_t invert;
  uint64_t* result;

  template <uint32_t test>
  __device__ void run() const {
    Found found = {0, ~static_cast<uint64_t>(0), 0};
    for (uint64_t i = first_unit(); i < count; i += unit_stride()) {
      const uint4 got = data[i];
      const uint4 expected = unit_at<test>(i, pass, flip);
      compare(got.x, expected.x, 4 * i, found);
      compare(got.y, expected.y, 4 * i + 1, found);
      compare(got.z, expected.z, 4 * i + 2, found);
      compare(got.w, expected.w, 4 * i + 3, found);
      if (invert != 0) data[i] = unit_at<test>(i, pass, ~flip);
    }
    tell(found, result);
  }
};

template <class Step>
inline __device__ void run_test(uint32_t test, const Step& step) {
  switch (test) {
    case walking_ones: return step.template run<walking_ones>();
    case own_address: return step.template run<own_address>();
    case inversions: return step.template run<inversions>();
    case random_words: return step.template run<random_words>();
    default: return step.template run<modulo_20>();
  }
}

}  // namespace

// Writes the expected values of this pass, xored with `flip`; `count` is in units of four words.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_memtest_write(uint4* out, uint64_t count, uint32_t test, uint32_t pass, uint32_t flip) {
  run_test(test, Write{out, count, pass, flip});
}

// Compares with these values and, if `invert` is not 0, writes their complement.
// Adds the number of wrong words to result[0], lowers result[1] to the first index among them and
// sets in result[2] every bit that is wrong in any. The caller begins with {0, ~0, 0}.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_memtest_check(uint4* data, uint64_t count, uint32_t test, uint32_t pass, uint32_t flip,
                          uint32_t invert, uint64_t* result) {
  run_test(test, Check{data, count, pass, flip, invert, result});
}

HIPTOOL_EXPORT(hiptool_memtest_write);
HIPTOOL_EXPORT(hiptool_memtest_check);
