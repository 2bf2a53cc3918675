// SPDX-License-Identifier: MIT
// Random numbers by a counter: an element depends on the seed and on its index alone. The generator
// is Philox4x32-10 (Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3, SC
// 2011).
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_math.h"
#include "hiptool_math_trig.h"
#include "hiptool_moves.h"

namespace hiptool_ops {

struct Words {
  uint32_t at[4];
};

inline __device__ Words philox(uint64_t counter, uint64_t seed) {
  uint32_t a = static_cast<uint32_t>(counter);
  uint32_t b = static_cast<uint32_t>(counter >> 32);
  uint32_t c = 0;
  uint32_t d = 0;
  uint32_t first_key = static_cast<uint32_t>(seed);
  uint32_t second_key = static_cast<uint32_t>(seed >> 32);
#pragma unroll
  for (unsigned round = 0; round < 10; ++round) {
    const uint64_t left = static_cast<uint64_t>(a) * 0xD2511F53U;
    const uint64_t right = static_cast<uint64_t>(c) * 0xCD9E8D57U;
    a = static_cast<uint32_t>(right >> 32) ^ b ^ first_key;
    c = static_cast<uint32_t>(left >> 32) ^ d ^ second_key;
    b = static_cast<uint32_t>(right);
    d = static_cast<uint32_t>(left);
    first_key += 0x9E3779B9U;
    second_key += 0xBB67AE85U;
  }
  return {{a, b, c, d}};
}

// Random bits as whole numbers, of as many bits as the type has digits.
template <class Value>
struct Bits;
template <>
struct Bits<float> {
  enum : unsigned { count = 4, width = 24 };
  static __device__ uint64_t read(const Words& words, unsigned k) { return words.at[k] >> 8; }
  static __device__ float root(float x) { return __fsqrt_rn(x); }
};
template <>
struct Bits<double> {
  enum : unsigned { count = 2, width = 53 };
  static __device__ uint64_t read(const Words& words, unsigned k) {
    return (static_cast<uint64_t>(words.at[2 * k]) << 32 | words.at[2 * k + 1]) >> 11;
  }
  static __device__ double root(double x) { return __dsqrt_rn(x); }
};

template <class Stored>
struct Digits {
  enum : unsigned { value = Bits<typename Element<Stored>::Value>::width };
};
template <>
struct Digits<F16> {
  enum : unsigned { value = 11 };
};
template <>
struct Digits<Bf16> {
  enum : unsigned { value = 8 };
};
template <>
struct Digits<F8> {
  enum : unsigned { value = 4 };
};

// low + u (high - low) of u in [0, 1); what rounds to `high` is `low`.
template <class Stored, class Value>
inline __device__ Stored uniform(uint64_t bits, Value low, Value high) {
  constexpr unsigned digits = Digits<Stored>::value;
  constexpr unsigned dropped = Bits<Value>::width - digits;
  const Value unit = static_cast<Value>(static_cast<long long>(bits >> dropped)) *
                     hiptool_math::power_of_two<Value>(-static_cast<int>(digits));
  const Stored result = Element<Stored>::narrow(low + unit * (high - low));
  return Element<Stored>::widen(result) < high ? result : Element<Stored>::narrow(low);
}

// Box and Muller: sqrt(-2 log u) times cosine and sine of 2 pi v, for u in (0, 1] and v in [0, 1).
template <class Value>
inline __device__ void normal_pair(uint64_t first, uint64_t second, Value* pair) {
  constexpr int width = Bits<Value>::width;
  const Value unit = hiptool_math::power_of_two<Value>(-width);
  const Value u = static_cast<Value>(static_cast<long long>(first + 1)) * unit;
  const Value radius = Bits<Value>::root(Value(-2) * hiptool_math::logarithm(u));
  // The quarter nearest to v, and the rest of at most an eighth, are exact.
  const long long quarter =
      static_cast<long long>((second + (static_cast<uint64_t>(1) << (width - 3))) >> (width - 2));
  const long long rest = static_cast<long long>(second) - (quarter << (width - 2));
  constexpr Value two_pi = static_cast<Value>(6.283185307179586);
  hiptool_math::Reduced<Value> angle = {{static_cast<Value>(rest) * unit * two_pi, Value(0)},
                                        static_cast<int>(quarter)};
  pair[1] = radius * hiptool_math::sine_of(angle);
  ++angle.quadrant;
  pair[0] = radius * hiptool_math::sine_of(angle);
}

template <class Stored, class Value>
inline __device__ void make_random(Distribution distribution, const Words& words, Value first,
                                   Value second, Stored* results) {
  constexpr unsigned count = Bits<Value>::count;
  if (distribution == Distribution::uniform) {
#pragma unroll
    for (unsigned k = 0; k < count; ++k) {
      results[k] = uniform<Stored>(Bits<Value>::read(words, k), first, second);
    }
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < count; k += 2) {
    Value pair[2];
    normal_pair(Bits<Value>::read(words, k), Bits<Value>::read(words, k + 1), pair);
    results[k] = Element<Stored>::narrow(first + second * pair[0]);
    results[k + 1] = Element<Stored>::narrow(first + second * pair[1]);
  }
}

// A thread makes the elements that one counter gives. `is_packed`: index and place are the same.
template <class Stored, class Value>
inline __device__ void fill_random(Distribution distribution, const Operands<1>& all,
                                   uint32_t is_packed, uint64_t seed, Value first, Value second,
                                   Stored* output) {
  constexpr unsigned count = Bits<Value>::count;
  each_index(all.count, count, [&](uint64_t index) {
    Stored results[count];
    make_random(distribution, philox(index / count, seed), first, second, results);
    if (is_packed) {
      store_up_to<count>(output, index, all.count, results);
      return;
    }
#pragma unroll
    for (unsigned k = 0; k < count; ++k) {
      if (index + k >= all.count) return;
      uint64_t places[1];
      find_places(all, index + k, places);
      output[places[0]] = results[k];
    }
  });
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNEL(type, Stored, Value)                                                     \
  extern "C" __global__ void __launch_bounds__(256) hiptool_random_##type(                      \
      hiptool_ops::Distribution distribution, hiptool_ops::Operands<1> all, uint32_t is_packed, \
      uint64_t seed, Value first, Value second, Stored* output) {                               \
    hiptool_ops::fill_random(distribution, all, is_packed, seed, first, second, output);        \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_random_##type)

HIPTOOL_KERNEL(f16, hiptool_ops::F16, float);
HIPTOOL_KERNEL(bf16, hiptool_ops::Bf16, float);
HIPTOOL_KERNEL(f32, float, float);
HIPTOOL_KERNEL(f64, double, double);
HIPTOOL_KERNEL(f8e4m3, hiptool_ops::F8, float);
