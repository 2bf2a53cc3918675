// SPDX-License-Identifier: MIT
// Counts NaN and infinity in floating-point tensors and in the scales of quantised ones.
#include <hip/hip_runtime.h>

namespace {

// The floating-point values in a block of one type: `count` values of `value_bytes` bytes, the
// first at `first`, the others at steps of `stride` bytes. A value is special if its bits under
// `mask` equal `special`; it is then NaN if it has a bit of `fraction` or the type has no infinity
// (`fraction` is 0), else infinite.
struct Descriptor {
  uint64_t special;
  uint64_t mask;
  uint64_t fraction;
  uint32_t block_bytes;
  uint32_t value_bytes;
  uint32_t first;
  uint32_t stride;
  uint32_t count;
  // The value is spread: four bits of it in the upper end of each of four u16 at `first` (IQ1_M).
  uint32_t is_spread;
};

// Whole blocks of one tensor.
struct Tile {
  uint64_t device_offset;
  uint64_t blocks;
  uint64_t tensor_offset;  // of its first byte
  uint32_t result;
  uint32_t descriptor;
};

struct Found {
  uint64_t nan;
  uint64_t infinite;
  uint64_t first;
};

// Byte by byte, because blocks of 17 bytes are not aligned.
inline __device__ uint64_t read_value(const uint8_t* at, const Descriptor& type) {
  uint64_t value = 0;
  if (type.is_spread != 0) {
    for (uint32_t i = 0; i < 4; ++i) {
      value |= static_cast<uint64_t>(at[2 * i + 1] >> 4) << (4 * i);
    }
    return value;
  }
  for (uint32_t i = 0; i < type.value_bytes; ++i) {
    value |= static_cast<uint64_t>(at[i]) << (8 * i);
  }
  return value;
}

inline __device__ void judge(uint64_t value, uint64_t tensor_offset, const Descriptor& type,
                             Found& found) {
  if (((value ^ type.special) & type.mask) != 0) return;
  if (type.fraction == 0 || (value & type.fraction) != 0) {
    ++found.nan;
  } else {
    ++found.infinite;
  }
  if (tensor_offset < found.first) found.first = tensor_offset;
}

// The blocks [begin, end) of a tile, shared by the threads of the block.
inline __device__ void check_blocks(const uint8_t* data, uint64_t tensor_offset, uint64_t begin,
                                    uint64_t end, const Descriptor& type, Found& found) {
  for (uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    for (uint32_t k = 0; k < type.count; ++k) {
      const uint64_t at = i * type.block_bytes + type.first + k * type.stride;
      judge(read_value(data + at, type), tensor_offset + at, type, found);
    }
  }
}

// The same bits in each lane of a word that holds several values.
inline __device__ uint32_t spread_lanes(uint64_t bits, uint32_t value_bytes) {
  if (value_bytes == 8) return static_cast<uint32_t>(bits >> 32);
  const uint32_t low = static_cast<uint32_t>(bits);
  if (value_bytes == 4) return low;
  return value_bytes == 2 ? low * 0x10001U : low * 0x1010101U;
}

// Types whose blocks are single values, at a multiple of 16. Special values are rare, so whole
// words are tested first: a lane of `word` is zero if its value is special, and subtracting 1 from
// each lane then borrows from its highest bit.
inline __device__ uint64_t check_plain(const uint8_t* data, uint64_t tensor_offset, uint64_t bytes,
                                       const Descriptor& type, Found& found) {
  const uint32_t special = spread_lanes(type.special, type.value_bytes);
  const uint32_t mask = spread_lanes(type.mask, type.value_bytes);
  const uint32_t lane_bytes = type.value_bytes < 4 ? type.value_bytes : 4;
  const uint32_t ones = spread_lanes(1, lane_bytes);
  const uint32_t tops = spread_lanes(static_cast<uint64_t>(1) << (8 * lane_bytes - 1), lane_bytes);
  const bool has_low_halves = type.value_bytes == 8;  // then words 0 and 2 are not exponents
  const uint4* const pieces = reinterpret_cast<const uint4*>(data);
  const uint64_t count = bytes / 16;
  for (uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
    const uint4 piece = pieces[i];
    const uint32_t x = (piece.x ^ special) & mask;
    const uint32_t y = (piece.y ^ special) & mask;
    const uint32_t z = (piece.z ^ special) & mask;
    const uint32_t w = (piece.w ^ special) & mask;
    uint32_t zeros = ((y - ones) & ~y) | ((w - ones) & ~w);
    if (!has_low_halves) zeros |= ((x - ones) & ~x) | ((z - ones) & ~z);
    if ((zeros & tops) == 0) continue;
    for (uint32_t at = 0; at < 16; at += type.value_bytes) {
      judge(read_value(data + i * 16 + at, type), tensor_offset + i * 16 + at, type, found);
    }
  }
  return count * 16;
}

}  // namespace

// Adds to results[3 * tile.result] the number of NaN and to the next the number of infinite values,
// and lowers the third to the place in the tensor, in bytes, of the first of them, for the tiles
// [first_tile, end_tile). The caller begins with {0, 0, ~0}.
extern "C" __global__ void __launch_bounds__(256)
    hiptool_value_check(const uint8_t* arena, const Tile* tiles, const Descriptor* descriptors,
                        uint64_t first_tile, uint64_t end_tile, uint64_t* results) {
  for (uint64_t i = first_tile + blockIdx.x; i < end_tile; i += gridDim.x) {
    const Tile tile = tiles[i];
    const Descriptor type = descriptors[tile.descriptor];
    const uint8_t* const data = arena + tile.device_offset;
    Found found = {0, 0, ~static_cast<uint64_t>(0)};
    uint64_t done = 0;
    const bool is_plain = type.value_bytes == type.block_bytes;
    if (is_plain && reinterpret_cast<uint64_t>(data) % 16 == 0) {
      done = check_plain(data, tile.tensor_offset, tile.blocks * type.block_bytes, type, found) /
             type.block_bytes;
    }
    check_blocks(data, tile.tensor_offset, done, tile.blocks, type, found);
    if (found.nan == 0 && found.infinite == 0) continue;
    uint64_t* const result = results + static_cast<uint64_t>(3) * tile.result;
    atomicAdd(&result[0], found.nan);
    atomicAdd(&result[1], found.infinite);
    atomicMin(&result[2], found.first);
  }
}

HIPTOOL_EXPORT(hiptool_value_check);
