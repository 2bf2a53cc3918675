// SPDX-License-Identifier: MIT
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

template <class Unit>
inline __device__ void copy_units(const Unit* from, Unit* to, uint64_t count) {
  const uint64_t stride = unit_stride();
  uint64_t i = first_unit();
  for (; i < count; i += stride) to[i] = from[i];
}

// Access that passes the L1 cache by: what it kept of one pass would serve the next.
inline __device__ uint4 load_uncached(const uint4* from) {
#if defined(__CUDA_ARCH__)
  uint4 unit;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(unit.x), "=r"(unit.y), "=r"(unit.z), "=r"(unit.w)
               : "l"(from)
               : "memory");
  return unit;
#elif defined(__AMDGCN__)
  typedef unsigned Words __attribute__((ext_vector_type(4)));
  const Words words = *reinterpret_cast<const volatile Words*>(from);
  return make_unit(words.x, words.y, words.z, words.w);
#else
  return *from;
#endif
}
inline __device__ void store_uncached(uint4* to, uint4 unit) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(unit.x), "r"(unit.y),
               "r"(unit.z), "r"(unit.w)
               : "memory");
#else
  *to = unit;
#endif
}

inline __device__ void copy_in_place(const uint4* from, uint4* to, uint32_t passes) {
#pragma unroll 1
  for (uint32_t pass = 0; pass < passes; ++pass) store_uncached(to, load_uncached(from));
}

// Many loads are under way before the first store waits for its own.
enum : uint32_t { loads_ahead = 12 };

}  // namespace

// to[0 .. count) = from[0 .. count), in units of 16 bytes, at addresses that are multiples of 16.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_copy_16(const uint4* from, uint4* to, uint64_t count) {
  copy_units(from, to, count);
}

// The same for single bytes, at any address.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_copy_1(const uint8_t* from, uint8_t* to, uint64_t count) {
  copy_units(from, to, count);
}

// Units of 16 bytes `passes` times, without a gap between passes: of a grid with a thread for each
// unit each thread repeats its own, else each pass is over all.
extern "C" __global__ void __launch_bounds__(512)
    hiptool_copy_16_passes(const uint4* from, uint4* to, uint64_t count, uint32_t passes) {
  const uint64_t stride = unit_stride();
  const uint64_t first = first_unit();
  if (first >= count) return;
  if (stride >= count) return copy_in_place(from + first, to + first, passes);
  const uint64_t mine = (count - first + stride - 1) / stride;
  for (uint32_t pass = 0; pass < passes; ++pass) {
    const uint4* source = from + first;
    uint4* target = to + first;
    uint64_t left = mine;
    for (; left >= loads_ahead; left -= loads_ahead) {
      uint4 held[loads_ahead];
#pragma unroll
      for (uint32_t k = 0; k < loads_ahead; ++k, source += stride) held[k] = *source;
#pragma unroll
      for (uint32_t k = 0; k < loads_ahead; ++k, target += stride) *target = held[k];
    }
    for (; left > 0; --left, source += stride, target += stride) *target = *source;
  }
}

// Copies both ways at once, in units of 16 bytes: even stretches from `here` to `there` and odd
// ones back, each from `shift` units after its own place. A stretch has as many units as a warp has
// lanes, a power of two, so that each warp copies one way; the shift is a multiple of two
// stretches, so that no source is also a destination. Each thread does its own unit `passes` times.
extern "C" __global__ void __launch_bounds__(1024)
    hiptool_copy_both_ways(uint4* here, uint4* there, uint64_t count, uint64_t shift,
                           uint32_t stretch, uint32_t passes) {
  const uint64_t i = first_unit();
  if (i >= count) return;
  const bool is_back = (i & stretch) != 0;
  copy_in_place((is_back ? there : here) + i + shift, (is_back ? here : there) + i, passes);
}

HIPTOOL_EXPORT(hiptool_copy_16);
HIPTOOL_EXPORT(hiptool_copy_1);
HIPTOOL_EXPORT(hiptool_copy_16_passes);
HIPTOOL_EXPORT(hiptool_copy_both_ways);
