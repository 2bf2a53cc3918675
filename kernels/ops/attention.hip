// SPDX-License-Identifier: MIT
// Attention with a block for each head of each token, in the order of hiptool_attention.h.
#include <hip/hip_runtime.h>

#include "hiptool_attention.h"
#include "hiptool_early.h"

using namespace hiptool_device;

namespace hiptool_ops {

// Sums of a tree: those that are half of the count, a quarter, .. apart.
template <unsigned count>
inline __device__ float join_tree(float (&sums)[count]) {
#pragma unroll
  for (unsigned apart = count / 2; apart > 0; apart /= 2) {
#pragma unroll
    for (unsigned i = 0; i < apart; ++i) sums[i] = sums[i] + sums[i + apart];
  }
  return sums[0];
}

// Shared memory: terms of a segment's keys, largest scores of 16 of them each, sums of the lanes,
// eight parts of an output, the query. With `has_new` the last key and value are not in the cache.
template <bool has_new>
struct Attending {
  enum : unsigned { peaks = 16, lanes = 32 };
  static constexpr unsigned loads = has_new ? 16 : 8;  // of keys or values, in flight together
  const Attention& all;
  float* terms;
  float* peak;
  float* lane_sums;
  float* parts;
  float* query;
  uint64_t begin;  // of the keys that the token sees
  uint64_t end;
  const float* new_key = nullptr;
  const float* new_value = nullptr;

  __device__ Attending(const Attention& attention, uint64_t token) : all(attention) {
    terms = reinterpret_cast<float*>(dynamic_shared());
    peak = terms + attention_keys;
    lane_sums = peak + peaks;
    parts = terms + attention_extra;
    query = parts + attention_parts * all.value_size;
    begin = seen_begin(all, token);
    end = seen_end(all, token);
  }

  __forceinline__ __device__ float score(const float* key) const {
    float sums[4] = {0, 0, 0, 0};
    uint64_t d = 0;
    if (all.key_pieces != 0) {
#pragma unroll 1
      for (; d + 4 * loads <= all.key_size; d += 4 * loads) {
        float fours[loads][4];
#pragma unroll
        for (unsigned n = 0; n < loads; ++n) load_piece<4>(key + d + 4 * n, fours[n]);
#pragma unroll
        for (unsigned n = 0; n < loads; ++n) {
#pragma unroll
          for (unsigned j = 0; j < 4; ++j) {
            sums[j] = __fmaf_rn(query[d + 4 * n + j], fours[n][j], sums[j]);
          }
        }
      }
    }
#pragma unroll 1
    for (; d < all.key_size; d += 4) {
      float four[4];
      load_four(key + d, all.key_size - d, all.key_pieces != 0, four);
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        // The query in shared memory has zeros past its end.
        sums[j] = __fmaf_rn(query[d + j], four[j], sums[j]);
      }
    }
    const float result = scaled_score(sums, all);
    return all.softcap != 0 ? capped_score(result, all) : result;
  }

  // Writes the terms of the segment's keys to shared memory and returns the largest score.
  __forceinline__ __device__ float find_terms(uint64_t segment, const float* keys) const {
    const uint64_t key = segment + threadIdx.x;
    const bool is_seen = key >= begin && key < end;
    float own = -hiptool_math::infinity<float>();
    // Separately, because the new key is in shared memory: common code would need slower loads.
    if (is_seen && !(has_new && key == all.first)) own = score(keys + key * all.key.token);
    if (has_new && is_seen && key == all.first) own = score(new_key);
    terms[threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.x < peaks) {
      float most = terms[threadIdx.x];
      for (unsigned i = peaks; i < attention_keys; i += peaks) {
        most = larger(most, terms[threadIdx.x + i]);
      }
      peak[threadIdx.x] = most;
    }
    __syncthreads();
    float most = peak[0];
#pragma unroll
    for (unsigned i = 1; i < peaks; ++i) most = larger(most, peak[i]);
    terms[threadIdx.x] = is_seen ? hiptool_math::exponential(own - shift_of(most)) : 0;
    __syncthreads();
    return most;
  }

  // Sums of the lanes, and of every eighth key for each element of the output.
  __forceinline__ __device__ void add_values(uint64_t segment, const float* values) const {
    if (threadIdx.x < lanes) {
      float sum = 0;
      for (unsigned i = 0; i < attention_keys; i += lanes) sum = sum + terms[threadIdx.x + i];
      lane_sums[threadIdx.x] = sum;
    }
    const uint64_t first = begin > segment ? begin - segment : 0;
    const uint64_t keys_left = end - segment;
    constexpr uint64_t most = attention_keys;
    const uint64_t last = keys_left < most ? keys_left : most;
    const unsigned pieces = static_cast<unsigned>((all.value_size + 3) / 4);
#pragma unroll 1
    for (unsigned unit = threadIdx.x; unit < pieces * attention_parts; unit += layer_threads) {
      const unsigned part = unit / pieces;
      const unsigned element = unit % pieces * 4;
      float sums[4] = {0, 0, 0, 0};
      const uint64_t skipped = (first + attention_parts - 1 - part) / attention_parts;
      const float* const from = values + segment * all.value.token + element;
#pragma unroll 1
      for (uint64_t i = skipped * attention_parts + part; i < last;
           i += loads * static_cast<unsigned>(attention_parts)) {
        float fours[loads][4];
#pragma unroll
        for (unsigned n = 0; n < loads; ++n) {
          const uint64_t key = i + n * attention_parts;
          if (key >= last) break;
          const float* const value = has_new && segment + key == all.first
                                         ? new_value + element
                                         : from + key * all.value.token;
          load_four(value, all.value_size - element, all.value_pieces != 0, fours[n]);
        }
#pragma unroll
        for (unsigned n = 0; n < loads; ++n) {
          const uint64_t key = i + n * attention_parts;
          if (key >= last) break;
          const float term = terms[key];
#pragma unroll
          for (unsigned j = 0; j < 4; ++j) sums[j] = __fmaf_rn(term, fours[n][j], sums[j]);
        }
      }
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        if (element + j < all.value_size) parts[part * all.value_size + element + j] = sums[j];
      }
    }
    __syncthreads();
  }

  // `sink`: a score without a value, which is joined last; null: none.
  __forceinline__ __device__ void run(const float* keys, const float* values, const float* sink,
                                      float* out) const {
    const bool has_element = threadIdx.x < all.value_size;
    JoinedTerms joined;
    float result = 0;
#pragma unroll 1
    for (uint64_t segment = begin / attention_keys * attention_keys; segment < end;
         segment += attention_keys) {
      const float of_segment = find_terms(segment, keys);
      add_values(segment, values);
#if !defined(__CUDA_ARCH__) && !defined(__AMDGCN__)
      if (!has_element) continue;  // on a device the others would wait
#endif
      float of_lanes[lanes];
#pragma unroll
      for (unsigned i = 0; i < lanes; ++i) of_lanes[i] = lane_sums[i];
      const JoinScales scales = join_terms(joined, of_segment, join_tree(of_lanes));
      if (has_element) {
        float of_parts[attention_parts];
#pragma unroll
        for (unsigned i = 0; i < attention_parts; ++i) {
          of_parts[i] = parts[i * all.value_size + threadIdx.x];
        }
        result = __fmaf_rn(result, scales.old_one, join_tree(of_parts) * scales.new_one);
      }
    }
    if (sink != nullptr) result = result * join_sink(joined, *sink);
    if (has_element) out[threadIdx.x] = canonical(result / joined.sum);
  }
};

__forceinline__ __device__ void attend(const Attention& all, const float* queries,
                                       const float* keys, const float* values, const float* sinks,
                                       float* out) {
  let_next_start();
  wait_for_inputs();
#pragma unroll 1
  for (uint64_t work = blockIdx.x; work < all.tokens * all.heads; work += gridDim.x) {
    const uint64_t token = work / all.heads;
    const uint64_t head = work % all.heads;
    const uint64_t shared_head = head / all.group;
    const Attending<false> attending(all, token);
    if (work != blockIdx.x) __syncthreads();
    const float* const query = queries + token * all.query.token + head * all.query.head;
    for (uint64_t d = threadIdx.x; d < (all.key_size + 3) / 4 * 4; d += layer_threads) {
      attending.query[d] = d < all.key_size ? query[d] : 0;
    }
    __syncthreads();
    attending.run(keys + shared_head * all.key.head, values + shared_head * all.value.head,
                  sinks != nullptr ? sinks + head : nullptr,
                  out + token * all.out.token + head * all.out.head);
  }
}

// A new row of a head.
struct NewHead {
  const TokenAttention& token;
  const float* from;
  const float* norm;  // null: none
  const float* cosines;
  const float* sines;

  // What norm.hip multiplies rows of up to 512 elements by; in the same order of addition.
  __forceinline__ __device__ float find_scale() const {
    constexpr unsigned length = Run<float>::length;
    const uint64_t size = token.all.key_size;
    float sum = 0;
    for (uint64_t d = threadIdx.x % 32 * length; d < size; d += 32 * length) {
#pragma unroll
      for (unsigned k = 0; k < length; ++k) {
        if (d + k < size) sum = sum + from[d + k] * from[d + k];
      }
    }
    return 1 / __fsqrt_rn(join_32<Sum>(sum) / static_cast<float>(size) + token.epsilon);
  }

  __forceinline__ __device__ float value(uint64_t d, float scale) const {
    return norm == nullptr ? from[d] : canonical(from[d] * scale * norm[d]);
  }

  // Normalised and rotated, with zeros past the end.
  __forceinline__ __device__ void store(float* to) const {
    const uint64_t size = token.all.key_size;
    const uint64_t pairs = token.pairs;
    const float scale = norm == nullptr ? 1 : find_scale();
    const uint64_t d = threadIdx.x;
    if (d >= (size + 3) / 4 * 4) return;
    float own = d < size ? value(d, scale) : 0;
    if (d < 2 * pairs) {
      const bool is_near = token.are_neighbours != 0;
      const bool is_first = is_near ? d % 2 == 0 : d < pairs;
      const uint64_t pair = is_near ? d / 2 : d % pairs;
      const uint64_t step = is_near ? 1 : pairs;
      const float other = value(is_first ? d + step : d - step, scale);
      const float c = cosines[pair];
      const float s = sines[pair];
      own = canonical(is_first ? own * c - other * s : other * s + own * c);
    }
    to[d] = own;
  }
};

// A block for each head; the first of those that share keys writes them to the cache. There are
// cosines and sines for all positions.
__forceinline__ __device__ void attend_token(const TokenAttention& token, const float* queries,
                                             const float* new_keys, const float* new_values,
                                             float* keys, float* values, const float* all_cosines,
                                             const float* all_sines, const float* query_norm,
                                             const float* key_norm, const float* sinks,
                                             float* out) {
  const Attention& all = token.all;
  const uint64_t head = blockIdx.x;
  const uint64_t shared_head = head / all.group;
  const float* const cosines = all_cosines + all.first * token.pairs;
  const float* const sines = all_sines + all.first * token.pairs;
  Attending<true> attending(all, 0);
  float* const key = attending.query + (all.key_size + 3) / 4 * 4;
  attending.new_key = key;
  attending.new_value = new_values + shared_head * all.value_size;
  NewHead{token, queries + head * all.key_size, query_norm, cosines, sines}.store(attending.query);
  NewHead{token, new_keys + shared_head * all.key_size, key_norm, cosines, sines}.store(key);
  __syncthreads();
  float* const cached_keys = keys + shared_head * all.key.head;
  float* const cached_values = values + shared_head * all.value.head;
  if (head % all.group == 0) {
    if (threadIdx.x < all.key_size) {
      cached_keys[all.first * all.key.token + threadIdx.x] = key[threadIdx.x];
    }
    if (threadIdx.x < all.value_size) {
      cached_values[all.first * all.value.token + threadIdx.x] = attending.new_value[threadIdx.x];
    }
  }
  attending.run(cached_keys, cached_values, sinks != nullptr ? sinks + head : nullptr,
                out + head * all.value_size);
}

// Keys and values of earlier tokens come from memory while the kernel in front ends.
__forceinline__ __device__ void prefetch_cache(const TokenAttention& token, const float* keys,
                                               const float* values) {
  const Attention& all = token.all;
  const uint64_t head = blockIdx.x;
  const uint64_t key = (all.first > all.window ? all.first - all.window : 0) + threadIdx.x;
  if (head % all.group != 0 || key >= all.first) return;
  const uint64_t shared_head = head / all.group;
  prefetch_bytes(keys + shared_head * all.key.head + key * all.key.token, all.key_size * 4);
  prefetch_bytes(values + shared_head * all.value.head + key * all.value.token, all.value_size * 4);
}

}  // namespace hiptool_ops

extern "C" __global__ void __launch_bounds__(256)
    hiptool_attention_token_f32(hiptool_ops::TokenAttention token, const float* queries,
                                const float* new_keys, const float* new_values, float* keys,
                                float* values, const float* cosines, const float* sines,
                                const float* query_norm, const float* key_norm, const float* sinks,
                                float* out, const uint32_t* position) {
  hiptool_device::let_next_start();
  // Graphs fix their arguments when they are recorded, so the position is read from memory.
  if (position != nullptr) token.all.first = hiptool_device::read_settled_word(position);
  hiptool_ops::prefetch_cache(token, keys, values);
  hiptool_device::wait_for_inputs();
  hiptool_ops::attend_token(token, queries, new_keys, new_values, keys, values, cosines, sines,
                            query_norm, key_norm, sinks, out);
}
HIPTOOL_EXPORT(hiptool_attention_token_f32);

extern "C" __global__ void __launch_bounds__(256)
    hiptool_attention_f32(hiptool_ops::Attention all, const float* queries, const float* keys,
                          const float* values, float* out) {
  hiptool_ops::attend(all, queries, keys, values, nullptr, out);
}
HIPTOOL_EXPORT(hiptool_attention_f32);

extern "C" __global__ void __launch_bounds__(256)
    hiptool_attention_sinks_f32(hiptool_ops::Attention all, const float* queries, const float* keys,
                                const float* values, const float* sinks, float* out) {
  hiptool_ops::attend(all, queries, keys, values, sinks, out);
}
HIPTOOL_EXPORT(hiptool_attention_sinks_f32);
