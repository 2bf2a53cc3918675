// SPDX-License-Identifier: MIT
// XXH3-64 (seed 0, default secret) of each 16 KiB leaf of a range, after the published
// specification of XXH3. Eight lanes share a leaf: XXH3 keeps eight accumulators, and what one
// block of 1024 bytes adds to them may be added in any order, so lane L takes 16 bytes, two
// accumulators' worth, of every second stripe, and only once a block the halves come together.
#include <hip/hip_runtime.h>

namespace {

constexpr uint32_t leaf_bytes = 16384;
constexpr uint32_t block_bytes = 1024;  // between two scrambles
constexpr uint32_t stripe_bytes = 64;
constexpr unsigned lanes = 8;
constexpr unsigned loads = block_bytes / (16 * lanes);  // of a lane in a block

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

// XXH3's default secret of 192 bytes as little-endian numbers.
const __device__ uint64_t secret_words[24] = {
    0xbe4ba423396cfeb8U, 0x1cad21f72c81017cU, 0xdb979083e96dd4deU, 0x1f67b3b7a4a44072U,
    0x78e5c0cc4ee679cbU, 0x2172ffcc7dd05a82U, 0x8e2443f7744608b8U, 0x4c263a81e69035e0U,
    0xcb00c391bb52283cU, 0xa32e531b8b65d088U, 0x4ef90da297486471U, 0xd8acdea946ef1938U,
    0x3f349ce33f76faa8U, 0x1d4f0bc7c7bbdcf9U, 0x3159b4cd4be0518aU, 0x647378d9c97e9fc8U,
    0xc3ebd33483acc5eaU, 0xeb6313faffa081c5U, 0x49daf0b751dd0d17U, 0x9e68d429265516d3U,
    0xfca1477d58be162bU, 0xce31d07ad1b8f88fU, 0x280416958f3acb45U, 0x7e404bbbcafbd7afU};

// Places in the secret, in bytes.
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

inline __device__ uint32_t read_32(const uint8_t* data) {
  return data[0] | static_cast<uint32_t>(data[1]) << 8 | static_cast<uint32_t>(data[2]) << 16 |
         static_cast<uint32_t>(data[3]) << 24;
}

inline __device__ uint64_t read_64(const uint8_t* data) {
  return read_32(data) | static_cast<uint64_t>(read_32(data + 4)) << 32;
}

inline __device__ uint64_t rotate_left(uint64_t value, unsigned bits) {
  return value << bits | value >> (64 - bits);
}

inline __device__ uint64_t swap_bytes(uint64_t value) {
  value = (value & 0x00ff00ff00ff00ffU) << 8 | (value >> 8 & 0x00ff00ff00ff00ffU);
  value = (value & 0x0000ffff0000ffffU) << 16 | (value >> 16 & 0x0000ffff0000ffffU);
  return value << 32 | value >> 32;
}

// Both halves of the 128-bit product, one xored onto the other.
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
  for (uint32_t pair = (length - 1) / 32 + 1; pair-- > 0;) {
    hash += mix_16(data + 16 * pair, 32 * pair);
    hash += mix_16(data + length - 16 * (pair + 1), 32 * pair + 16);
  }
  return avalanche(hash);
}

inline __device__ uint64_t digest_up_to_240(const uint8_t* data, uint32_t length) {
  uint64_t hash = length * prime64_1;
  for (uint32_t i = 0; i < 8; ++i) hash += mix_16(data + 16 * i, 16 * i);
  hash = avalanche(hash);
  for (uint32_t i = 8; i < length / 16; ++i) hash += mix_16(data + 16 * i, 16 * (i - 8) + 3);
  return avalanche(hash + mix_16(data + length - 16, 136 - 17));
}

inline __device__ uint64_t digest_short(const uint8_t* data, uint32_t length) {
  if (length <= 16) return digest_up_to_16(data, length);
  if (length <= 128) return digest_up_to_128(data, length);
  return digest_up_to_240(data, length);
}

struct Words {
  uint64_t first;
  uint64_t second;
};

// How 16 bytes are read from data of a known alignment.
template <unsigned Alignment>
inline __device__ Words read_pair(const uint8_t* data) {
  if constexpr (Alignment == 16) {
    const uint4 words = *reinterpret_cast<const uint4*>(data);
    return {words.x | static_cast<uint64_t>(words.y) << 32, words.z | static_cast<uint64_t>(words.w)
                                                                          << 32};
  } else if constexpr (Alignment == 8) {
    const uint64_t* words = reinterpret_cast<const uint64_t*>(data);
    return {words[0], words[1]};
  } else {
    return {read_64(data), read_64(data + 8)};
  }
}

inline __device__ uint64_t product(uint64_t key) { return (key & 0xffffffffU) * (key >> 32); }

// What one lane holds. Of the accumulators 2 * pair and 2 * pair + 1, to which it adds, it owns the
// one that its parity says; the lane with the other parity owns the other.
struct Lane {
  unsigned pair;
  unsigned parity;
  uint64_t own;
  uint64_t sums[2];  // of this block, without the owned values

  inline __device__ explicit Lane(unsigned lane)
      : pair(lane % 4), parity(lane / 4), own(first_accumulators[2 * pair + parity]), sums{0, 0} {}

  inline __device__ void add(Words data, uint64_t first_secret, uint64_t second_secret) {
    sums[0] += data.second + product(data.first ^ first_secret);
    sums[1] += data.first + product(data.second ^ second_secret);
  }

  // Sums go to the lanes that own them; all lanes of the warp take part.
  inline __device__ void collect() {
    const uint64_t kept = parity != 0 ? sums[1] : sums[0];
    const uint64_t given = parity != 0 ? sums[0] : sums[1];
    own += kept + __shfl_xor(given, 4);
    sums[0] = 0;
    sums[1] = 0;
  }

  inline __device__ void scramble(uint64_t key) { own = (own ^ own >> 47 ^ key) * prime32_1; }

  inline __device__ uint64_t merge(uint32_t length) const {
    const uint64_t keyed = own ^ secret(merge_secret + 16 * pair + 8 * parity);
    uint64_t sum = multiply_fold(keyed, __shfl_xor(keyed, 4));
    sum += __shfl_xor(sum, 1);
    sum += __shfl_xor(sum, 2);
    return avalanche(length * prime64_1 + sum);
  }
};

// Any length above 240, by the eight lanes of a group together.
template <unsigned Alignment>
inline __device__ uint64_t digest_long(const uint8_t* data, uint32_t length, unsigned lane) {
  Lane state(lane);
  const uint64_t key = secret(scramble_secret + 8 * (2 * state.pair + state.parity));
  const uint32_t stripes = (length - 1) / stripe_bytes;
  const uint32_t stripes_of_block = block_bytes / stripe_bytes;
  for (uint32_t first = 0; first <= stripes; first += stripes_of_block) {
#pragma unroll 4
    for (uint32_t n = state.parity; n < stripes_of_block; n += 2) {
      if (first + n >= stripes) break;
      const uint8_t* place = data + (first + n) * stripe_bytes + 16 * state.pair;
      const unsigned word = n + 2 * state.pair;
      state.add(read_pair<Alignment>(place), secret_words[word], secret_words[word + 1]);
    }
    if (first + stripes_of_block <= stripes) {
      state.collect();
      state.scramble(key);
    }
  }
  if (state.parity == 0) {
    const unsigned offset = last_stripe_secret + 16 * state.pair;
    state.add(read_pair<1>(data + length - stripe_bytes + 16 * state.pair), secret(offset),
              secret(offset + 8));
  }
  state.collect();
  return state.merge(length);
}

// The same for whole leaves with everything known: keys in registers, a block's loads in flight.
template <unsigned Alignment>
struct LeafDigest {
  uint64_t keys[2 * loads];  // of this lane's stripes, which are two words apart
  uint64_t last_keys[2];
  uint64_t scramble_key;

  inline __device__ explicit LeafDigest(unsigned lane) {
    const unsigned pair = lane % 4;
    const unsigned parity = lane / 4;
#pragma unroll
    for (unsigned i = 0; i < 2 * loads; ++i) keys[i] = secret_words[parity + 2 * pair + i];
    // The last stripe of the leaf is the last of its block, but has a key of its own.
    const unsigned offset = last_stripe_secret + 16 * pair;
    last_keys[0] = parity != 0 ? secret(offset) : keys[2 * loads - 2];
    last_keys[1] = parity != 0 ? secret(offset + 8) : keys[2 * loads - 1];
    scramble_key = secret(scramble_secret + 8 * (2 * pair + parity));
  }

  inline __device__ uint64_t operator()(const uint8_t* leaf, unsigned lane) const {
    Lane state(lane);
    const uint8_t* place = leaf + 16 * lane;
#pragma unroll 1
    for (uint32_t block = 0; block < leaf_bytes / block_bytes - 1; ++block) {
      add_block(state, place, keys[2 * loads - 2], keys[2 * loads - 1]);
      state.collect();
      state.scramble(scramble_key);
      place += block_bytes;
    }
    add_block(state, place, last_keys[0], last_keys[1]);
    state.collect();
    return state.merge(leaf_bytes);
  }

 private:
  inline __device__ void add_block(Lane& state, const uint8_t* place, uint64_t last_first,
                                   uint64_t last_second) const {
    Words data[loads];
#pragma unroll
    for (unsigned i = 0; i < loads; ++i) data[i] = read_pair<Alignment>(place + 16 * lanes * i);
#pragma unroll
    for (unsigned i = 0; i + 1 < loads; ++i) state.add(data[i], keys[2 * i], keys[2 * i + 1]);
    state.add(data[loads - 1], last_first, last_second);
  }
};

// Data that came at odd addresses is rare, and read bytewise anyway.
template <>
struct LeafDigest<1> {
  inline __device__ explicit LeafDigest(unsigned) {}
  inline __device__ uint64_t operator()(const uint8_t* leaf, unsigned lane) const {
    return digest_long<1>(leaf, leaf_bytes, lane);
  }
};

template <unsigned Alignment>
inline __device__ void digest_range(const uint8_t* data, uint64_t size_bytes, uint64_t* digests) {
  const unsigned lane = threadIdx.x % lanes;
  const unsigned group = threadIdx.x / lanes;
  const unsigned groups = blockDim.x / lanes;
  const uint64_t full = size_bytes / leaf_bytes;
  const uint32_t rest = static_cast<uint32_t>(size_bytes % leaf_bytes);

  if (full > 0) {
    const LeafDigest<Alignment> digest_leaf(lane);
    // Shuffles need whole warps: groups past the end repeat the last leaf and keep it to
    // themselves.
    for (uint64_t first = static_cast<uint64_t>(blockIdx.x) * groups; first < full;
         first += static_cast<uint64_t>(gridDim.x) * groups) {
      const uint64_t wanted = first + group;
      const uint64_t leaf = wanted < full ? wanted : full - 1;
      const uint64_t digest = digest_leaf(data + leaf * leaf_bytes, lane);
      if (lane == 0 && wanted < full) digests[wanted] = digest;
    }
  }

  // The shorter leaf falls to the first warp of the last block, all groups of it alike.
  const bool is_last_block = blockIdx.x == gridDim.x - 1;
  if (!is_last_block || threadIdx.x >= static_cast<unsigned>(warpSize)) return;
  if (rest == 0 && full > 0) return;
  const uint8_t* const leaf = data + full * leaf_bytes;
  if (rest > 240) {
    const uint64_t digest = digest_long<Alignment>(leaf, rest, lane);
    if (threadIdx.x == 0) digests[full] = digest;
  } else if (threadIdx.x == 0) {
    digests[full] = digest_short(leaf, rest);
  }
}

}  // namespace

// digests[i] = XXH3-64 of data[i * 16384 ...), the last leaf shorter; of nothing, if size_bytes is
// 0. Any alignment of data. Blocks are whole warps of one dimension, any number of them. Three
// blocks of 256 on a multiprocessor have enough loads in flight for the memory's full speed.
extern "C" __global__ void __launch_bounds__(256, 3)
    hiptool_leaf_digest(const uint8_t* data, uint64_t size_bytes, uint64_t* digests) {
  const unsigned misalignment = static_cast<unsigned>(reinterpret_cast<uint64_t>(data) % 16);
  if (misalignment == 0) {
    digest_range<16>(data, size_bytes, digests);
  } else if (misalignment == 8) {
    digest_range<8>(data, size_bytes, digests);
  } else {
    digest_range<1>(data, size_bytes, digests);
  }
}

HIPTOOL_EXPORT(hiptool_leaf_digest);
