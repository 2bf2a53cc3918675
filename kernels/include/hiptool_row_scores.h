// SPDX-License-Identifier: MIT
// Scores and terms of 16 rows that share keys, each a head of a token, by a block of 256 threads,
// with the bits of hiptool_attention.h.
#pragma once
#include "hiptool_attention.h"
#include "hiptool_norms.h"

namespace hiptool_ops {

// Each segment: find_limits(), find_scores(), find_terms(); then threads have `peaks`, `totals` and
// the terms in `tile`, key after key.
struct RowScores {
  enum : unsigned {
    rows = attention_rows,
    parts = attention_parts,
    side = 4,                           // rows and keys of a thread's scores
    key_step = attention_keys / side,   // between the keys of a thread
    row_step = rows / side,             // and between its rows
    chunk = attention_chunk,            // elements of keys in shared memory at a time
    key_pitch = attention_key_pitch,    // floats of a key: neighbours differ in banks
    term_pitch = attention_term_pitch,  // of a key's terms
    residues = 16,                      // keys of a pair of rows that lanes take at a time
  };
  // A term of a key that the row does not see.
  static constexpr float unseen = -1;

  // Which keys of a segment a row sees.
  struct Limits {
    unsigned from;
    unsigned to;
    __device__ bool has(unsigned key) const { return key >= from && key < to; }
  };

  const Attention& all;
  const float* keys;  // of the head
  uint64_t first_row;
  uint64_t row_count;  // of the head
  uint64_t begin;      // of the keys that any row sees
  uint64_t end;
  uint32_t query_pitch;
  // Shared memory. Keys and terms take turns in the same place.
  float* tile;
  float* queries;
  Limits* limits;
  float* peaks;
  float* totals;

  __device__ RowScores(const Attention& attention, const float* of_keys, uint64_t first,
                       uint64_t count)
      : all(attention),
        keys(of_keys),
        first_row(first),
        row_count(count),
        query_pitch(attention_query_pitch(attention.key_size)) {
    const uint64_t last = first + rows < count ? first + rows - 1 : count - 1;
    begin = seen_begin(all, token_of(first));
    end = seen_end(all, token_of(last));
    tile = reinterpret_cast<float*>(hiptool_device::dynamic_shared());
    queries = tile + attention_tile_floats;
    limits = reinterpret_cast<Limits*>(queries + rows * query_pitch);
    peaks = reinterpret_cast<float*>(limits + rows);
    totals = peaks + rows;
  }

  __device__ uint64_t token_of(uint64_t row) const { return row / all.group; }
  // Rows after the last one are as that one, and are not stored.
  __device__ uint64_t row_of(unsigned r) const {
    return first_row + r < row_count ? first_row + r : row_count - 1;
  }

  __forceinline__ __device__ void load_queries(const float* of_head) const {
    const unsigned padded = (static_cast<unsigned>(all.key_size) + chunk - 1) / chunk * chunk;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < rows * padded; i += layer_threads) {
      const unsigned r = i / padded;
      const unsigned d = i % padded;
      const uint64_t row = row_of(r);
      const float* const query =
          of_head + token_of(row) * all.query.token + row % all.group * all.query.head;
      queries[r * query_pitch + d] = d < all.key_size ? query[d] : 0;
    }
  }

  __forceinline__ __device__ void find_limits(uint64_t segment) const {
    if (threadIdx.x >= rows) return;
    const uint64_t token = token_of(row_of(threadIdx.x));
    limits[threadIdx.x] = {place_in(segment, seen_begin(all, token)),
                           place_in(segment, seen_end(all, token))};
  }
  static __device__ unsigned place_in(uint64_t segment, uint64_t key) {
    if (key <= segment) return 0;
    constexpr unsigned most = attention_keys;
    return key - segment < most ? static_cast<unsigned>(key - segment) : most;
  }

  // What a thread loads of a chunk: four elements of the keys that are 64 apart.
  template <unsigned count>
  __forceinline__ __device__ void load_chunk(uint64_t segment, unsigned d,
                                             float (&loaded)[count][4]) const {
    const unsigned own = d + threadIdx.x % 4 * 4;
#pragma unroll
    for (unsigned j = 0; j < count; ++j) {
      const uint64_t key = segment + threadIdx.x / 4 + j * key_step;
      if (key >= begin && key < end && own < all.key_size) {
        load_four(keys + key * all.key.token + own, all.key_size - own, all.key_pieces != 0,
                  loaded[j]);
      } else {
#pragma unroll
        for (float& element : loaded[j]) element = 0;
      }
    }
  }
  template <unsigned count>
  __forceinline__ __device__ void keep_chunk(const float (&loaded)[count][4]) const {
#pragma unroll
    for (unsigned j = 0; j < count; ++j) {
      const unsigned key = threadIdx.x / 4 + j * key_step;
      *reinterpret_cast<uint4*>(tile + key * key_pitch + threadIdx.x % 4 * 4) =
          hiptool_device::make_unit(loaded[j]);
    }
  }

  // A warp has 8 neighbouring keys, and those 64 apart, by all rows.
  static __device__ unsigned own_key() { return threadIdx.x / 32 * 8 + threadIdx.x % 8; }
  static __device__ unsigned own_row() { return threadIdx.x / 8 % row_step; }

  // To sums by keys and rows.
  template <unsigned count>
  __forceinline__ __device__ void add_chunk(unsigned d, float (&sums)[count][side][4]) const {
#pragma unroll
    for (unsigned q = 0; q < chunk; q += 4) {
      float of_keys[count][4];
#pragma unroll
      for (unsigned j = 0; j < count; ++j) {
        read_four(tile + (own_key() + j * key_step) * key_pitch + q, of_keys[j]);
      }
#pragma unroll
      for (unsigned i = 0; i < side; ++i) {
        float query[4];
        read_four(queries + (own_row() + i * row_step) * query_pitch + d + q, query);
#pragma unroll
        for (unsigned j = 0; j < count; ++j) {
#pragma unroll
          for (unsigned n = 0; n < 4; ++n) {
            sums[j][i][n] = __fmaf_rn(query[n], of_keys[j][n], sums[j][i][n]);
          }
        }
      }
      end_step();
    }
  }
  // LLVM moves the loads of all unrolled steps in front of the first one, for which there are too
  // few registers.
  static __forceinline__ __device__ void end_step() {
#if defined(__clang__) && defined(__NVPTX__)
    asm volatile("" ::: "memory");
#endif
  }

  static __forceinline__ __device__ void read_four(const float* from, float* to) {
    hiptool_device::read_unit(*reinterpret_cast<const uint4*>(from), to);
  }

  // Writes the scores of a segment to shared memory, of the first `count` of each thread's keys;
  // those of keys that a row does not see are -infinity.
  template <unsigned count>
  __forceinline__ __device__ void find_scores(uint64_t segment) const {
    float sums[count][side][4];
#pragma unroll
    for (auto& of_key : sums) {
#pragma unroll
      for (auto& of_row : of_key) {
#pragma unroll
        for (float& sum : of_row) sum = 0;
      }
    }
#pragma unroll 1
    for (unsigned d = 0; d < all.key_size; d += chunk) {
      float loaded[count][4];
      load_chunk(segment, d, loaded);
      __syncthreads();
      keep_chunk(loaded);
      __syncthreads();
      add_chunk(d, sums);
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < side; ++i) {
#pragma unroll
      for (unsigned j = 0; j < side; ++j) {
        const bool is_seen =
            j < count && limits[own_row() + i * row_step].has(own_key() + j * key_step);
        *own_score(i, j) = is_seen ? scaled_score(sums[j < count ? j : 0][i], all)
                                   : -hiptool_math::infinity<float>();
      }
    }
    if (all.softcap != 0) cap_scores();
    __syncthreads();
  }
  __forceinline__ __device__ void find_scores(uint64_t segment) const {
    const uint64_t steps = (end - segment + key_step - 1) / key_step;
    if (steps >= 4) {
      find_scores<4>(segment);
    } else if (steps == 3) {
      find_scores<3>(segment);
    } else if (steps == 2) {
      find_scores<2>(segment);
    } else {
      find_scores<1>(segment);
    }
  }
  __forceinline__ __device__ float* own_score(unsigned i, unsigned j) const {
    return tile + (own_key() + j * key_step) * term_pitch + own_row() + i * row_step;
  }
  __forceinline__ __device__ void cap_scores() const {
#pragma unroll 1
    for (unsigned n = 0; n < side * side; ++n) {
      const unsigned i = n / side;
      const unsigned j = n % side;
      float* const score = own_score(i, j);
      const bool is_seen = limits[own_row() + i * row_step].has(own_key() + j * key_step);
      if (is_seen) *score = capped_score(*score, all);
    }
  }

  // A warp has two rows, a lane one of them and every sixteenth key.
  __forceinline__ __device__ void find_terms() const {
    constexpr unsigned count = unsigned{attention_keys} / unsigned{residues};
    constexpr int of_row = 2;  // from one lane of a row to the next
    const unsigned row = threadIdx.x / 32 * 2 + threadIdx.x % 2;
    const unsigned residue = threadIdx.x / 2 % residues;
    float* const own = tile + residue * term_pitch + row;
    const Limits seen = limits[row];
    float scores[count];
    float most = -hiptool_math::infinity<float>();
#pragma unroll
    for (unsigned n = 0; n < count; ++n) {
      scores[n] = own[n * residues * term_pitch];
      most = larger(most, scores[n]);
    }
    most = hiptool_device::join_32<Larger, of_row>(most);
    const float shift = shift_of(most);
    // Of the keys with this remainder by 32, and with the one that is larger by 16.
    float sums[2] = {0, 0};
#pragma unroll
    for (unsigned n = 0; n < count; ++n) {
      const float term = hiptool_math::exponential(scores[n] - shift);
      const bool is_seen = seen.has(residue + n * residues);
      sums[n % 2] = sums[n % 2] + (is_seen ? term : 0);
      own[n * residues * term_pitch] = is_seen ? term : unseen;
    }
    const float total = hiptool_device::join_32<hiptool_device::Sum, of_row>(sums[0] + sums[1]);
    if (residue == 0) {
      peaks[row] = most;
      totals[row] = total;
    }
    __syncthreads();
  }
};

}  // namespace hiptool_ops
