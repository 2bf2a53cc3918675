// SPDX-License-Identifier: MIT
// Attention of many tokens, with the bits of hiptool_attention.h: a block has 16 rows, each a head
// of a token, that share keys and values, and reads these once for all of them. Of a segment it
// computes scores (a thread 4 keys by 4 rows, from shared memory), then terms, then sums of values
// (a thread 4 elements of all rows, of every eighth key).
#include <hip/hip_runtime.h>

#include "hiptool_row_scores.h"

using namespace hiptool_device;

namespace hiptool_ops {

struct AttendingRows : RowScores {
  enum : unsigned {
    width = 16,                               // elements of the output that a warp takes at a time
    all_widths = layer_threads / 32 * width,  // and all warps of a block
    own_rows = 2,                             // of a thread's results
  };

  const float* values;  // of the head

  __device__ AttendingRows(const Attention& attention, const float* of_keys, const float* of_values,
                           uint64_t first, uint64_t count)
      : RowScores(attention, of_keys, first, count), values(of_values) {}

  // A warp has 16 neighbouring elements, of which a lane has four, and every eighth key.
  static __device__ unsigned own_part() { return threadIdx.x % 32 / 4; }
  static __device__ unsigned own_element() { return threadIdx.x % 4 * 4; }

  // Adds up every eighth key of a segment; `is_whole`: all rows see all of these.
  template <bool is_whole>
  __forceinline__ __device__ void add_values(uint64_t segment, unsigned element,
                                             float (&sums)[rows][4]) const {
    constexpr unsigned ahead = 4;  // keys in flight
    const unsigned from = place_in(segment, begin);
    const unsigned to = place_in(segment, end);
    const unsigned skipped = (from + parts - 1 - own_part()) / parts;
    const float* const column = values + segment * all.value.token + element;
    const uint64_t rest = element < all.value_size ? all.value_size - element : 0;
#pragma unroll 1
    for (unsigned key = skipped * parts + own_part(); key < to; key += ahead * parts) {
      float fours[ahead][4];
#pragma unroll
      for (unsigned n = 0; n < ahead; ++n) {
        const unsigned one = key + n * parts;
        if (!is_whole && one >= to) break;
        load_four(column + one * all.value.token, rest, all.value_pieces != 0 && rest != 0,
                  fours[n]);
      }
#pragma unroll
      for (unsigned n = 0; n < ahead; ++n) {
        const unsigned one = key + n * parts;
        if (!is_whole && one >= to) break;
        add_value<is_whole>(tile + one * term_pitch, fours[n], sums);
      }
    }
  }
  template <bool is_whole>
  static __forceinline__ __device__ void add_value(const float* terms, const float (&value)[4],
                                                   float (&sums)[rows][4]) {
#pragma unroll
    for (unsigned r = 0; r < rows; r += 4) {
      float four[4];
      read_four(terms + r, four);
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const bool is_seen = is_whole || !(four[i] < 0);
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
          const float sum = __fmaf_rn(four[i], value[j], sums[r + i][j]);
          sums[r + i][j] = is_seen ? sum : sums[r + i][j];
        }
      }
    }
  }

  // The tree over the eight parts: lanes that differ by 16, then by 8 and 4. In the end a thread
  // has rows 2 * own_part() and the one after it.
  template <unsigned count>
  static __forceinline__ __device__ void join_parts(const float (&sums)[count][4],
                                                    float (&joined)[own_rows][4]) {
    constexpr int distance = static_cast<int>(count);
    const bool has_upper = (threadIdx.x & static_cast<unsigned>(distance)) != 0;
    float kept[count / 2][4];
#pragma unroll
    for (unsigned r = 0; r < count / 2; ++r) {
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        // Values, not places: clang would select addresses, and keep the sums in memory.
        const float low = +sums[r][j];
        const float high = +sums[r + count / 2][j];
        kept[r][j] = (has_upper ? +high : +low) + exchange(has_upper ? +low : +high, distance);
      }
    }
    if constexpr (count / 2 == own_rows) {
#pragma unroll
      for (unsigned r = 0; r < own_rows; ++r) {
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) joined[r][j] = kept[r][j];
      }
    } else {
      join_parts(kept, joined);
    }
  }

  __forceinline__ __device__ void find_sums(uint64_t segment, unsigned element, bool is_whole,
                                            float (&joined)[own_rows][4]) const {
    float sums[rows][4];
#pragma unroll
    for (auto& of_row : sums) {
#pragma unroll
      for (float& sum : of_row) sum = 0;
    }
    if (is_whole) {
      add_values<true>(segment, element, sums);
    } else {
      add_values<false>(segment, element, sums);
    }
#if defined(HIPTOOL_JOINS_LANES)
    hiptool_cpu::join_across<Sum, 16, 4, rows * 4>(&sums[0][0]);
    for (unsigned r = 0; r < own_rows; ++r) {
      for (unsigned j = 0; j < 4; ++j) joined[r][j] = sums[2 * own_part() + r][j];
    }
#else
    join_parts(sums, joined);
#endif
  }

  // What a row's thread has of one segment, and where its results are.
  struct OwnRow {
    JoinedTerms terms;
    JoinScales scales;
    bool is_stored;
    bool is_seen;
    float* out;
  };

  // Results so far wait in the output: together with the sums they would not fit into registers.
  __forceinline__ __device__ void join_segment(uint64_t segment, bool is_first,
                                               OwnRow (&own)[own_rows]) const {
#pragma unroll
    for (unsigned r = 0; r < own_rows; ++r) {
      const unsigned row = own_rows * own_part() + r;
      const Limits seen = limits[row];
      own[r].is_seen = seen.from < seen.to;
      if (own[r].is_seen) own[r].scales = join_terms(own[r].terms, peaks[row], totals[row]);
    }
    const bool is_whole = segment >= seen_begin(all, token_of(row_of(rows - 1))) &&
                          segment + attention_keys <= seen_end(all, token_of(first_row));
#pragma unroll 1
    for (unsigned element = threadIdx.x / 32 * width; element < all.value_size;
         element += all_widths) {
      float sums[own_rows][4];
      find_sums(segment, element + own_element(), is_whole, sums);
#pragma unroll
      for (unsigned r = 0; r < own_rows; ++r) {
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
          const unsigned place = element + own_element() + j;
          if (!own[r].is_stored || place >= all.value_size) break;
          const float before = is_first ? 0 : own[r].out[place];
          own[r].out[place] = own[r].is_seen ? __fmaf_rn(before, own[r].scales.old_one,
                                                         sums[r][j] * own[r].scales.new_one)
                                             : before;
        }
      }
    }
  }

  __forceinline__ __device__ void run(const float* sinks, float* out) const {
    OwnRow own[own_rows];
#pragma unroll
    for (unsigned r = 0; r < own_rows; ++r) {
      const uint64_t row = row_of(own_rows * own_part() + r);
      own[r] = {JoinedTerms{},
                {1, 0},
                first_row + own_rows * own_part() + r < row_count,
                false,
                out + token_of(row) * all.out.token + row % all.group * all.out.head};
    }
    const uint64_t first = begin / attention_keys * attention_keys;
#pragma unroll 1
    for (uint64_t segment = first; segment < end; segment += attention_keys) {
      find_limits(segment);
      find_scores(segment);
      find_terms();
      join_segment(segment, segment == first, own);
      __syncthreads();  // the next segment's keys take the place of the terms
    }
#pragma unroll
    for (unsigned r = 0; r < own_rows; ++r) {
      const uint64_t row = row_of(own_rows * own_part() + r);
      const float scale = sinks != nullptr ? join_sink(own[r].terms, sinks[row % all.group]) : 1;
#pragma unroll 1
      for (unsigned element = threadIdx.x / 32 * width + own_element(); element < all.value_size;
           element += all_widths) {
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
          if (!own[r].is_stored || element + j >= all.value_size) break;
          const float result = own[r].out[element + j];
          own[r].out[element + j] =
              canonical((sinks != nullptr ? result * scale : result) / own[r].terms.sum);
        }
      }
    }
  }
};

}  // namespace hiptool_ops

// `sinks`: null: none. Tokens that see most keys come first.
extern "C" __global__ void __launch_bounds__(256, 2)
    hiptool_attention_rows_f32(hiptool_ops::Attention all, const float* queries, const float* keys,
                               const float* values, const float* sinks, float* out) {
  using hiptool_ops::AttendingRows;
  const uint64_t row_count = all.tokens * all.group;
  const uint64_t tiles = (row_count + AttendingRows::rows - 1) / AttendingRows::rows;
  const uint64_t key_heads = all.heads / all.group;
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < tiles * key_heads; work += gridDim.x) {
    const uint64_t head = work % key_heads;
    const uint64_t tile = tiles - 1 - work / key_heads;
    const AttendingRows rows(all, keys + head * all.key.head, values + head * all.value.head,
                             tile * AttendingRows::rows, row_count);
    if (work != blockIdx.x) __syncthreads();
    rows.load_queries(queries + head * all.group * all.query.head);
    rows.run(sinks != nullptr ? sinks + head * all.group : nullptr,
             out + head * all.group * all.out.head);
  }
}
HIPTOOL_EXPORT(hiptool_attention_rows_f32);
