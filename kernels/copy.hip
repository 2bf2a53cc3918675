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

// Copies both ways at once, in units of 16 bytes: even stretches from `here` to `there` and odd
// ones back, each from `shift` units after its own place. A stretch has as many units as a warp has
// lanes, a power of two, so that each warp copies one way; the shift is a multiple of two
// stretches, so that no source is also a destination.
extern "C" __global__ void __launch_bounds__(1024)
    hiptool_copy_both_ways(uint4* here, uint4* there, uint64_t count, uint64_t shift,
                           uint32_t stretch) {
  const uint64_t i = first_unit();
  if (i >= count) return;
  if ((i & stretch) == 0) {
    there[i] = here[i + shift];
  } else {
    here[i] = there[i + shift];
  }
}

HIPTOOL_EXPORT(hiptool_copy_16);
HIPTOOL_EXPORT(hiptool_copy_1);
HIPTOOL_EXPORT(hiptool_copy_both_ways);
