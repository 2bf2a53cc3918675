// SPDX-License-Identifier: MIT
// XXH3-64 (seed 0, default secret) of each digest block (16 KiB) of many ranges, after the
// published specification of XXH3. Eight lanes share a digest block: XXH3 keeps eight accumulators,
// and the additions of one XXH3 block of 1024 bytes to them may happen in any order. So each lane
// takes 16 bytes, for two accumulators, of every second stripe, and lanes exchange sums only once
// per XXH3 block.
#include "hiptool_device.h"

using namespace hiptool_device;

namespace {

constexpr uint32_t digest_block_bytes = 16384;
constexpr uint32_t xxh3_block_bytes = 1024;  // between two scrambles
constexpr uint32_t stripe_bytes = 64;
constexpr uint32_t stripes_of_xxh3_block = xxh3_block_bytes / stripe_bytes;
constexpr unsigned lanes = 8;
constexpr unsigned loads = xxh3_block_bytes / (16 * lanes);  // of a lane in an XXH3 block

constexpr uint64_t prime32_1 = 0x9E3779B1U;
constexpr uint64_t prime32_2 = 0x85EBCA77U;
constexpr uint64_t prime32_3 = 0xC2B2AE3DU;
constexpr uint64_t prime64_1 = 0x9E3779B185EBCA87U;
constexpr uint64_t prime64_2 = 0xC2B2AE3D27D4EB4FU;
constexpr uint64_t prime64_3 = 0x165667B19E3779F9U;
constexpr uint64_t prime64_4 = 0x85EBCA77C2B2AE63U;
constexpr uint64_t prime64_5 = 0x27D4EB2F165667C5U;
constexpr uint64_t prime_mix_1 = 0x165667919E3779F9U;
constexpr uint64_t prime_mix_2 = 0x9FB21C651E98DF25U;

// XXH3's default secret, 192 bytes as little-endian numbers.
const __device__ uint64_t secret_words[24] = {
    0xbe4ba423396cfeb8U, 0x1cad21f72c81017cU, 0xdb979083e96dd4deU, 0x1f67b3b7a4a44072U,
    0x78e5c0cc4ee679cbU, 0x2172ffcc7dd05a82U, 0x8e2443f7744608b8U, 0x4c263a81e69035e0U,
    0xcb00c391bb52283cU, 0xa32e531b8b65d088U, 0x4ef90da297486471U, 0xd8acdea946ef1938U,
    0x3f349ce33f76faa8U, 0x1d4f0bc7c7bbdcf9U, 0x3159b4cd4be0518aU, 0x647378d9c97e9fc8U,
    0xc3ebd33483acc5eaU, 0xeb6313faffa081c5U, 0x49daf0b751dd0d17U, 0x9e68d429265516d3U,
    0xfca1477d58be162bU, 0xce31d07ad1b8f88fU, 0x280416958f3acb45U, 0x7e404bbbcafbd7afU};

// Byte offsets in the secret.
constexpr unsigned scramble_secret = 128;
constexpr unsigned last_stripe_secret = 121;
constexpr unsigned merge_secret = 11;

const __device__ uint64_t first_accumulators[8] = {prime32_3, prime64_1, prime64_2, prime64_3,
                                                   prime64_4, prime32_2, prime64_5, prime32_1};

inline __device__ uint64_t secret(unsigned offset_bytes) {
  const unsigned word = offset_bytes / 8;
  const unsigned shift = offset_bytes % 8 * 8;
  if (shift == 0) return secret_words[word];
  return secret_words[word] >> shift | secret_words[word + 1] << (64 - shift);
}

inline __device__ uint64_t rotate_left(uint64_t value, unsigned bits) {
  return value << bits | value >> (64 - bits);
}

inline __device__ uint64_t swap_bytes(uint64_t value) {
  value = (value & 0x00ff00ff00ff00ffU) << 8 | (value >> 8 & 0x00ff00ff00ff00ffU);
  value = (value & 0x0000ffff0000ffffU) << 16 | (value >> 16 & 0x0000ffff0000ffffU);
  return value << 32 | value >> 32;
}

// The two halves of the 128-bit product, xored.
inline __device__ uint64_t multiply_fold(uint64_t a, uint64_t b) {
  const uint64_t a_low = a & 0xffffffffU;
  const uint64_t a_high = a >> 32;
  const uint64_t b_low = b & 0xffffffffU;
  const uint64_t b_high = b >> 32;
  const uint64_t low = a_low * b_low;
  const uint64_t cross = a_high * b_low + (low >> 32);  // cannot overflow, nor can the next
  const uint64_t middle = a_low * b_high + (cross & 0xffffffffU);
  const uint64_t high = a_high * b_high + (cross >> 32) + (middle >> 32);
  return high ^ (middle << 32 | (low & 0xffffffffU));
}

inline __device__ uint64_t avalanche(uint64_t hash) {
  hash = (hash ^ hash >> 37) * prime_mix_1;
  return hash ^ hash >> 32;
}

inline __device__ uint64_t avalanche_64(uint64_t hash) {
  hash = (hash ^ hash >> 33) * prime64_2;
  hash = (hash ^ hash >> 29) * prime64_3;
  return hash ^ hash >> 32;
}

inline __device__ uint64_t mix_16(const uint8_t* data, unsigned secret_offset) {
  return multiply_fold(read_64(data) ^ secret(secret_offset),
                       read_64(data + 8) ^ secret(secret_offset + 8));
}

inline __device__ uint64_t digest_up_to_16(const uint8_t* data, uint32_t length) {
  if (length > 8) {
    const uint64_t low = read_64(data) ^ secret(24) ^ secret(32);
    const uint64_t high = read_64(data + length - 8) ^ secret(40) ^ secret(48);
    return avalanche(length + swap_bytes(low) + high + multiply_fold(low, high));
  }
  if (length >= 4) {
    const uint64_t first = read_32(data);
    const uint64_t last = read_32(data + length - 4);
    uint64_t hash = (last + (first << 32)) ^ secret(8) ^ secret(16);
    hash ^= rotate_left(hash, 49) ^ rotate_left(hash, 24);
    hash *= prime_mix_2;
    hash = (hash ^ ((hash >> 35) + length)) * prime_mix_2;
    return hash ^ hash >> 28;
  }
  if (length > 0) {
    const uint32_t joined = static_cast<uint32_t>(data[0]) << 16 |
                            static_cast<uint32_t>(data[length >> 1]) << 24 | data[length - 1] |
                            length << 8;
    const uint64_t flip = (secret(0) ^ secret(0) >> 32) & 0xffffffffU;
    return avalanche_64(joined ^ flip);
  }
  return avalanche_64(secret(56) ^ secret(64));
}

inline __device__ uint64_t digest_up_to_128(const uint8_t* data, uint32_t length) {
  uint64_t hash = length * prime64_1;
#pragma unroll 1
  for (uint32_t pair = (length - 1) / 32 + 1; pair-- > 0;) {
    hash += mix_16(data + 16 * pair, 32 * pair);
    hash += mix_16(data + length - 16 * (pair + 1), 32 * pair + 16);
  }
  return avalanche(hash);
}

inline __device__ uint64_t digest_up_to_240(const uint8_t* data, uint32_t length) {
  uint64_t hash = length * prime64_1;
#pragma unroll 1
  for (uint32_t i = 0; i < 8; ++i) hash += mix_16(data + 16 * i, 16 * i);
  hash = avalanche(hash);
#pragma unroll 1
  for (uint32_t i = 8; i < length / 16; ++i) hash += mix_16(data + 16 * i, 16 * (i - 8) + 3);
  return avalanche(hash + mix_16(data + length - 16, 136 - 17));
}

inline __device__ uint64_t digest_short(const uint8_t* data, uint32_t length) {
  if (length <= 16) return digest_up_to_16(data, length);
  if (length <= 128) return digest_up_to_128(data, length);
  return digest_up_to_240(data, length);
}

struct alignas(16) Words {
  uint64_t first;
  uint64_t second;
};

inline __device__ Words read_aligned_pair(const uint8_t* data) {
  return *reinterpret_cast<const Words*>(data);
}

inline __device__ Words read_pair(const uint8_t* data) {
  return {read_64(data), read_64(data + 8)};
}

inline __device__ uint64_t product(uint64_t key) { return (key & 0xffffffffU) * (key >> 32); }

// State of one lane. It adds to the accumulators 2 * pair and 2 * pair + 1 and owns one of them, by
// its parity; the lane of the other parity owns the other.
struct Lane {
  unsigned pair;
  unsigned parity;
  uint64_t own;
  uint64_t sums[2];  // of this XXH3 block, without the owned values
  uint64_t scramble_key;

  inline __device__ explicit Lane(unsigned lane)
      : pair(lane % 4),
        parity(lane / 4),
        own(first_accumulators[2 * pair + parity]),
        sums{0, 0},
        scramble_key(secret(scramble_secret + 8 * (2 * pair + parity))) {}

  inline __device__ void add(Words data, uint64_t first_secret, uint64_t second_secret) {
    sums[0] += data.second + product(data.first ^ first_secret);
    sums[1] += data.first + product(data.second ^ second_secret);
  }

  // Sums go to the lanes that own them; the shuffle needs all lanes of the warp.
  inline __device__ void collect() {
    const uint64_t kept = parity != 0 ? sums[1] : sums[0];
    const uint64_t given = parity != 0 ? sums[0] : sums[1];
    own += kept + __shfl_xor(given, 4);
    sums[0] = 0;
    sums[1] = 0;
  }

  inline __device__ void scramble() { own = (own ^ own >> 47 ^ scramble_key) * prime32_1; }

  // The last stripe ends at the end of the digest block and may overlap the one before.
  inline __device__ void add_last_stripe(const uint8_t* block, uint32_t length) {
    if (parity != 0) return;
    const unsigned offset = last_stripe_secret + 16 * pair;
    add(read_pair(block + length - stripe_bytes + 16 * pair), secret(offset), secret(offset + 8));
  }

  inline __device__ uint64_t merge(uint32_t length) const {
    const uint64_t keyed = own ^ secret(merge_secret + 16 * pair + 8 * parity);
    uint64_t sum = multiply_fold(keyed, __shfl_xor(keyed, 4));
    sum += __shfl_xor(sum, 1);
    sum += __shfl_xor(sum, 2);
    return avalanche(length * prime64_1 + sum);
  }
};

// The largest value of the warp's lanes.
inline __device__ uint32_t largest_of_warp(uint32_t value) {
  for (unsigned distance = lanes; distance < static_cast<unsigned>(warpSize); distance *= 2) {
    const uint32_t other = __shfl_xor(value, static_cast<int>(distance));
    if (other > value) value = other;
  }
  return value;
}

// The stripes [first, first + count) of a digest block, at most an XXH3 block.
inline __device__ void add_stripes(Lane& state, const uint8_t* block, uint32_t first,
                                   uint32_t count, bool is_aligned) {
#pragma unroll 1
  for (uint32_t n = state.parity; n < count; n += 2) {
    const uint8_t* place = block + (first + n) * stripe_bytes + 16 * state.pair;
    const unsigned word = n + 2 * state.pair;
    state.add(is_aligned ? read_aligned_pair(place) : read_pair(place), secret_words[word],
              secret_words[word + 1]);
  }
}

// Digests whole blocks at multiples of 16 with the eight lanes of a group. Keys are in registers,
// and all loads of an XXH3 block are in flight together.
struct WholeBlock {
  uint64_t keys[2 * loads];  // of this lane's stripes, which are two words apart

  inline __device__ explicit WholeBlock(unsigned lane) {
#pragma unroll
    for (unsigned i = 0; i < 2 * loads; ++i) keys[i] = secret_words[lane / 4 + 2 * (lane % 4) + i];
  }

  inline __device__ uint64_t digest(const uint8_t* block, unsigned lane) const {
    Lane state(lane);
    const uint8_t* place = block + 16 * lane;
#pragma unroll 1
    for (uint32_t i = 0; i < digest_block_bytes / xxh3_block_bytes - 1; ++i) {
      add_xxh3_block(state, place, keys[2 * loads - 2], keys[2 * loads - 1]);
      state.collect();
      state.scramble();
      place += xxh3_block_bytes;
    }
    // The last stripe of the digest block is the last of its XXH3 block, but has a key of its own.
    const bool has_last = state.parity != 0;
    const unsigned offset = last_stripe_secret + 16 * state.pair;
    add_xxh3_block(state, place, has_last ? secret(offset) : keys[2 * loads - 2],
                   has_last ? secret(offset + 8) : keys[2 * loads - 1]);
    state.collect();
    return state.merge(digest_block_bytes);
  }

 private:
  inline __device__ void add_xxh3_block(Lane& state, const uint8_t* place, uint64_t last_first,
                                        uint64_t last_second) const {
    Words data[loads];
#pragma unroll
    for (unsigned i = 0; i < loads; ++i) data[i] = read_aligned_pair(place + 16 * lanes * i);
#pragma unroll
    for (unsigned i = 0; i + 1 < loads; ++i) state.add(data[i], keys[2 * i], keys[2 * i + 1]);
    state.add(data[loads - 1], last_first, last_second);
  }
};

// A digest block of any length at any address. One loop serves both kinds of reading and short
// loops are not unrolled, which reduces the driver's compile time to 0.6. All groups of a warp loop
// over as many XXH3 blocks as the longest digest block has, because a shuffle needs the whole warp.
inline __device__ uint64_t digest_any(const uint8_t* block, uint32_t length, unsigned lane,
                                      bool is_aligned) {
  Lane state(lane);
  const bool is_long = length > 240;
  const uint32_t stripes = is_long ? (length - 1) / stripe_bytes : 0;  // without the last one
  const uint32_t most = largest_of_warp(stripes);
#pragma unroll 1
  for (uint32_t first = 0; first < most; first += stripes_of_xxh3_block) {
    const bool is_whole = first + stripes_of_xxh3_block <= stripes;
    if (first < stripes) {
      add_stripes(state, block, first, is_whole ? stripes_of_xxh3_block : stripes - first,
                  is_aligned);
    }
    state.collect();
    if (is_whole) state.scramble();
  }
  if (is_long) state.add_last_stripe(block, length);
  state.collect();
  const uint64_t digest = state.merge(length);
  return is_long || lane != 0 ? digest : digest_short(block, length);
}

// Bytes of the arena that are digested on their own; as src/kernel_store/digest.cpp has it.
struct Range {
  uint64_t device_offset;
  uint64_t size_bytes;
  uint64_t first_block;
};

struct DigestBlock {
  const uint8_t* data;
  uint32_t length;
};

inline __device__ DigestBlock find_block(const uint8_t* arena, const Range* ranges,
                                         uint64_t range_count, uint64_t number) {
  uint64_t low = 0;
  uint64_t high = range_count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (ranges[middle].first_block <= number) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const Range range = ranges[low];
  const uint64_t offset = (number - range.first_block) * digest_block_bytes;
  const uint64_t rest = range.size_bytes - offset;
  return {arena + range.device_offset + offset,
          rest < digest_block_bytes ? static_cast<uint32_t>(rest) : digest_block_bytes};
}

inline __device__ void digest_blocks(const uint8_t* arena, const Range* ranges,
                                     uint64_t range_count, uint64_t first_block, uint64_t end_block,
                                     bool is_aligned, uint64_t* digests) {
  const unsigned warp = static_cast<unsigned>(warpSize);
  const unsigned lane = threadIdx.x % lanes;
  const unsigned group = threadIdx.x / lanes;
  const unsigned first_group = threadIdx.x / warp * (warp / lanes);  // of this warp
  const unsigned groups = blockDim.x / lanes;
  const WholeBlock whole_block(lane);
  for (uint64_t first = first_block + static_cast<uint64_t>(blockIdx.x) * groups;
       first + first_group < end_block; first += static_cast<uint64_t>(gridDim.x) * groups) {
    // Shuffles need whole warps: groups past the end repeat the last block and discard the result.
    const uint64_t wanted = first + group;
    const DigestBlock block =
        find_block(arena, ranges, range_count, wanted < end_block ? wanted : end_block - 1);
    const bool is_any_short =
        !is_aligned || largest_of_warp(block.length < digest_block_bytes ? 1 : 0) != 0;
    const uint64_t digest = is_any_short ? digest_any(block.data, block.length, lane, is_aligned)
                                         : whole_block.digest(block.data, lane);
    if (lane == 0 && wanted < end_block) digests[wanted] = digest;
  }
}

}  // namespace

// digests[i] = XXH3-64 of digest block i, for the blocks [first_leaf, end_leaf) of non-empty ranges
// at any addresses. A range is divided into digest blocks of 16 KiB, the last one shorter; they are
// numbered from its first_block, without gaps from range to range. `alignment` divides the address
// of every range; with 16 and more, words are read. Thread blocks are one-dimensional and consist
// of whole warps. Three of 256 threads per multiprocessor have enough loads in flight for full
// memory bandwidth.
extern "C" __global__ void __launch_bounds__(256, 3)
    hiptool_tensor_digests(const uint8_t* arena, const Range* ranges, uint64_t range_count,
                           uint64_t first_leaf, uint64_t end_leaf, uint32_t alignment,
                           uint64_t* digests) {
  digest_blocks(arena, ranges, range_count, first_leaf, end_leaf, alignment >= 16, digests);
}

HIPTOOL_EXPORT(hiptool_tensor_digests);
