// SPDX-License-Identifier: MIT
// The quantised types of GGUF to f32.
#include "hiptool_blocks_iq.h"

using namespace hiptool_blocks;

namespace {

// A thread takes four values of each half of 256, so that neighbours read and write neighbouring
// addresses, and both halves' loads are in flight before the first value is stored.
template <Type type>
inline __device__ void convert(const uint8_t* __restrict__ blocks,
                               const uint16_t* __restrict__ grids, uint4* __restrict__ out,
                               uint64_t count) {
  constexpr unsigned values = BlockSize<type>::values;
  constexpr unsigned block_bytes = BlockSize<type>::bytes;
  const uint64_t end = (count + 255) / 256 * 32;
  const uint64_t stride = unit_stride();
  for (uint64_t unit = first_unit(); unit < end; unit += stride) {
    const uint64_t first = unit / 32 * 256 + unit % 32 * 4;
    uint64_t second = first + 128;
    if constexpr (values < 256) {
      if (first >= count) continue;
      if (second >= count) second = first;  // stored twice: a branch would delay its loads
    }
    float numbers[2][4];
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const uint64_t at = half == 0 ? first : second;
      four_values<type>(
          {blocks + at / values * block_bytes, grids, static_cast<uint32_t>(at % values)},
          numbers[half]);
    }
    out[first / 4] = make_unit(numbers[0]);
    out[second / 4] = make_unit(numbers[1]);
  }
}

}  // namespace

// out[0 .. count) = the values of the blocks, which begin at a multiple of 16 bytes. `type` is
// ggml's number. `count` is a multiple of the values in a block.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_dequantize(const uint8_t* __restrict__ blocks, const uint16_t* __restrict__ grids,
                       uint4* __restrict__ out, uint64_t count, uint32_t type) {
  switch (type) {
#define HIPTOOL_QUANTISED(name, ...)          \
  case name:                                  \
    convert<name>(blocks, grids, out, count); \
    break;
#include "hiptool_quantised.def"
    default: break;
  }
}

HIPTOOL_EXPORT(hiptool_dequantize);
