// SPDX-License-Identifier: MIT
// Reductions: sum, least, largest, and the place of these. One kernel for each type and direction
// of access: along packed rows, or along columns, where neighbouring threads read neighbouring
// results' elements.
//
// The order of a sum follows from the number of elements and their type alone. Up to 4096 elements
// are one chunk; more are cut into chunks of the least multiple of 256 that is at least 1024 and
// gives at most 4096 chunks (src/ops/reduce.cpp). Elements of a chunk go in runs (16 bytes of them,
// at most 8) to 32 lanes by turns. Each lane adds its elements in order, starting from 0; the lanes
// are joined by the tree of join_32. The chunks' sums, in f32 or f64 for floating point, are then
// summed by the same rule, and the result is rounded once. A sum is never -0.
#include <hip/hip_runtime.h>

#include "hiptool_reduce.h"

namespace hiptool_ops {

// `parts` sets of elements follow each other in `places` steps; the switch stands outside.
template <unsigned parts, unsigned length, class Stored>
__forceinline__ __device__ void take(Settings all, const Stored (&runs)[parts][length],
                                     uint64_t first, uint64_t step, uint64_t end,
                                     Found<Stored>& found) {
  using Traits = Reduced<Stored>;
  switch (all.kind) {
    case ReduceKind::sum:
#pragma unroll
      for (unsigned u = 0; u < parts; ++u) {
        if (first + u * step >= end) break;
#pragma unroll
        for (unsigned k = 0; k < length; ++k) found.sum = found.sum + Traits::operand(runs[u][k]);
      }
      break;
    default:  // the place too, which costs less than code of its own
#pragma unroll
      for (unsigned u = 0; u < parts; ++u) {
        if (first + u * step >= end) break;
#pragma unroll
        for (unsigned k = 0; k < length; ++k) {
          const auto key = key_of(all, runs[u][k]);
          const bool wins = key < found.key || found.place == ~0U;
          found.place = wins ? static_cast<uint32_t>(first + u * step) + k : found.place;
          found.key = wins ? key : found.key;
        }
      }
      break;
  }
}

__forceinline__ __device__ uint64_t reduced_place(const Reduction& all, uint64_t index) {
  if (all.reduced.axes == 1) return index * all.reduced.strides[0][0];
  uint64_t places[1];
  find_places(all.reduced, index, places);
  return places[0];
}

// Places of `parts` elements, each index(u). The search stands there once: what is found moves
// through the array, because code for each would be too much to be inlined.
template <unsigned parts, class Index>
__forceinline__ __device__ void reduced_places(const Reduction& all, uint64_t (&places)[parts],
                                               Index index) {
  if (all.reduced.axes == 1) {
#pragma unroll
    for (unsigned u = 0; u < parts; ++u) places[u] = index(u) * all.reduced.strides[0][0];
    return;
  }
#pragma unroll
  for (unsigned u = 0; u < parts; ++u) places[u] = 0;
#pragma unroll 1
  for (unsigned u = 0; u < parts; ++u) {
    const uint64_t found = reduced_place(all, index(u));
#pragma unroll
    for (unsigned k = 0; k + 1 < parts; ++k) places[k] = places[k + 1];
    places[parts - 1] = found;
  }
}

// Elements from `at` on along one axis; those beyond the end change nothing: 0 for sums, else the
// first again.
template <unsigned length, class Stored>
__forceinline__ __device__ void load_apart(ReduceKind kind, const Stored* row, uint64_t stride,
                                           uint64_t at, uint64_t end, Stored* to) {
#pragma unroll
  for (unsigned k = 0; k < length; ++k) to[k] = row[(at + k < end ? at + k : at) * stride];
  if (kind == ReduceKind::sum && at + length > end) {
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      if (at + k >= end) to[k] = Stored{};
    }
  }
}

template <class Stored>
__forceinline__ __device__ void fold_row(const Reduction& all, const Stored* row, uint64_t begin,
                                         uint64_t end, Found<Stored>& found) {
  constexpr unsigned length = Run<Stored>::length;
  constexpr unsigned ahead = length < 8 ? 4 : 2;  // runs whose loads are in flight
  const Settings settings = {all.kind, all.is_reversed};
  const unsigned group = 1U << all.group_bits;
  const uint64_t step = group * length;
  const bool is_packed = all.reduced.packed != 0;
  uint64_t i = begin + (threadIdx.x & (group - 1)) * length;
  if (is_packed || all.reduced.axes == 1) {
    for (; i < end; i += ahead * step) {
      Stored runs[ahead][length];
      const auto index = [&](unsigned u) { return i + u * step < end ? i + u * step : i; };
      if (is_packed) {
        uint64_t places[ahead];
        reduced_places(all, places, index);
#pragma unroll
        for (unsigned u = 0; u < ahead; ++u) load_piece<length>(row + places[u], runs[u]);
      } else {
        const uint64_t stride = all.reduced.strides[0][0];
#pragma unroll
        for (unsigned u = 0; u < ahead; ++u) {
          load_apart<length>(settings.kind, row, stride, index(u), end, runs[u]);
        }
      }
      take(settings, runs, i, step, end, found);
    }
    return;
  }
  for (; i < end; i += step) {
#pragma unroll 1
    for (uint64_t at = i; at < i + length && at < end; ++at) {
      const Stored one[1][1] = {{row[reduced_place(all, at)]}};
      take(settings, one, at, 0, end, found);
    }
  }
}

__forceinline__ __device__ void write_f32(SumResult result, void* out, uint64_t place, float sum) {
  switch (result) {
    case SumResult::f16: static_cast<F16*>(out)[place] = Element<F16>::narrow(sum); break;
    case SumResult::bf16: static_cast<Bf16*>(out)[place] = Element<Bf16>::narrow(sum); break;
    case SumResult::f8e4m3: static_cast<F8*>(out)[place] = Element<F8>::narrow(sum); break;
    default: static_cast<float*>(out)[place] = Element<float>::narrow(sum); break;
  }
}

// `earlier` has the places that the input's elements stand for, where they are results of chunks.
template <class Stored>
__forceinline__ __device__ void write(const Reduction& all, const Found<Stored>& found,
                                      uint64_t place, const uint32_t* earlier, void* out,
                                      uint32_t* out_places) {
  using Sum = typename Found<Stored>::Sum;
  const Settings settings = {all.kind, all.is_reversed};
  switch (all.kind) {
    case ReduceKind::sum:
      if constexpr (Reduced<Stored>::is_float && sizeof(Sum) == 4) {
        write_f32(all.result, out, place, found.sum);
      } else if constexpr (Reduced<Stored>::is_float) {
        static_cast<double*>(out)[place] = Element<double>::narrow(found.sum);
      } else {
        static_cast<Stored*>(out)[place] = static_cast<Stored>(found.sum);
      }
      break;
    case ReduceKind::least:
      static_cast<Stored*>(out)[place] = stored_of<Stored>(settings, found.key);
      break;
    case ReduceKind::place_of_least:
      out_places[place] = earlier == nullptr ? found.place : earlier[found.place];
      if (out != nullptr) static_cast<Stored*>(out)[place] = stored_of<Stored>(settings, found.key);
      break;
  }
}

template <class Stored>
__forceinline__ __device__ void reduce_rows(const Reduction& all, const Stored* in,
                                            const uint32_t* earlier, void* out,
                                            uint32_t* out_places) {
  // The groups of a block take several rows, or several chunks of one row.
  const bool is_cut = all.chunks > 1;
  const unsigned groups = row_threads >> all.group_bits;
  const unsigned group = threadIdx.x >> all.group_bits;
  const uint64_t rows_of_block = is_cut ? 1 : groups;
  const uint64_t chunk = is_cut ? static_cast<uint64_t>(blockIdx.y) * groups + group : 0;
  uint64_t first = blockIdx.x * rows_of_block;
  for (; first < all.kept.count; first += gridDim.x * rows_of_block) {
    const uint64_t row = is_cut ? first : first + group;
    const bool has_row = row < all.kept.count && chunk < all.chunks;
    uint64_t places[2];
    find_places(all.kept, has_row ? row : 0, places);
    const uint64_t begin = chunk * all.chunk_length;
    const uint64_t rest = all.length - begin;
    const uint64_t end = begin + (rest < all.chunk_length ? rest : all.chunk_length);
    Found<Stored> found = nothing<Stored>();
    fold_row(all, in + places[0], begin, has_row ? end : begin, found);
#pragma unroll 1
    for (int distance = 1 << all.group_bits >> 1; distance > 0; distance /= 2) {
      Found<Stored> other = found;
      if (all.kind == ReduceKind::sum) {
        other.sum = hiptool_device::exchange(found.sum, distance);
      } else {
        other.key = hiptool_device::exchange(found.key, distance);
        other.place = hiptool_device::exchange(found.place, distance);
      }
      join(all.kind, found, other);
    }
    if (has_row && (threadIdx.x & ((1U << all.group_bits) - 1)) == 0) {
      write(all, found, places[1] + chunk, earlier == nullptr ? nullptr : earlier + places[0], out,
            out_places);
    }
  }
}

// Columns: a thread takes runs of neighbouring results, and 32 threads share their elements.

template <unsigned length, class Stored>
__forceinline__ __device__ void load_columns(bool is_packed, const Stored* from, unsigned columns,
                                             Stored* to) {
  if (is_packed) {
    load_piece<length>(from, to);
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < length; ++k) to[k] = from[k < columns ? k : 0];
}

template <unsigned length, class Stored>
__forceinline__ __device__ void sum_columns(const Stored* row, Found<Stored>* found) {
#pragma unroll
  for (unsigned k = 0; k < length; ++k) {
    found[k].sum = found[k].sum + Reduced<Stored>::operand(row[k]);
  }
}

template <unsigned length, class Stored>
__forceinline__ __device__ void rank_columns(Settings all, const Stored* row, uint32_t place,
                                             Found<Stored>* found) {
#pragma unroll
  for (unsigned k = 0; k < length; ++k) {
    const auto key = key_of(all, row[k]);
    const bool wins = key < found[k].key || found[k].place == ~0U;
    found[k].place = wins ? place : found[k].place;
    found[k].key = wins ? key : found[k].key;
  }
}

template <unsigned length, class Stored>
__forceinline__ __device__ void fold_columns(const Reduction& all, const Stored* from,
                                             unsigned columns, uint64_t begin, uint64_t end,
                                             Found<Stored>* found) {
  constexpr unsigned lanes = row_threads / column_runs;
  constexpr unsigned ahead = 4;  // rows whose loads are in flight
  constexpr unsigned runs = length < ahead ? ahead / length : 1;
  constexpr unsigned rows_of_run = length < ahead ? length : ahead;
  const uint64_t step = runs * lanes * length;
  uint64_t run = begin + threadIdx.x / column_runs * length;
  const Settings settings = {all.kind, all.is_reversed};
  const bool is_packed = (all.kept.packed & 1U) != 0;
  uint64_t part = 0;
  while (run + part < end) {
    const auto index = [&](unsigned k) {
      return run + part + k / rows_of_run * (lanes * length) + k % rows_of_run;
    };
    uint64_t places[ahead];
    reduced_places(all, places, [&](unsigned k) { return index(k) < end ? index(k) : run + part; });
    Stored rows[ahead][length];
#pragma unroll
    for (unsigned k = 0; k < ahead; ++k) {
      load_columns<length>(is_packed, from + places[k], columns, rows[k]);
    }
    if (settings.kind == ReduceKind::sum) {
#pragma unroll
      for (unsigned k = 0; k < ahead; ++k) {
        if (index(k) < end) sum_columns<length>(rows[k], found);
      }
    } else {
#pragma unroll
      for (unsigned k = 0; k < ahead; ++k) {
        if (index(k) >= end) continue;
        rank_columns<length>(settings, rows[k], static_cast<uint32_t>(index(k)), found);
      }
    }
    part += rows_of_run;
    if (part >= length) {
      part = 0;
      run += step;
    }
  }
}

// Shared memory for what some threads have found, `length` things each.
template <unsigned length, class Stored>
struct FoundInShared {
  using Sum = typename Found<Stored>::Sum;
  using Key = typename Found<Stored>::Key;
  enum : unsigned { things = row_threads / 2 * length };

  static __device__ void put(ReduceKind kind, unsigned at, const Found<Stored>& found) {
    void* const shared = hiptool_device::dynamic_shared();
    if (kind == ReduceKind::sum) {
      static_cast<Sum*>(shared)[at] = found.sum;
    } else {
      static_cast<Key*>(shared)[at] = found.key;
      reinterpret_cast<uint32_t*>(static_cast<Key*>(shared) + things)[at] = found.place;
    }
  }
  static __device__ Found<Stored> get(ReduceKind kind, unsigned at) {
    void* const shared = hiptool_device::dynamic_shared();
    Found<Stored> found = nothing<Stored>();
    if (kind == ReduceKind::sum) {
      found.sum = static_cast<Sum*>(shared)[at];
    } else {
      found.key = static_cast<Key*>(shared)[at];
      found.place = reinterpret_cast<uint32_t*>(static_cast<Key*>(shared) + things)[at];
    }
    return found;
  }
};

// The tree of join_32 over the 32 threads that share columns. The results are in shared memory.
template <unsigned length, class Stored>
__forceinline__ __device__ void join_columns(ReduceKind kind, Found<Stored>* found) {
  using Shared = FoundInShared<length, Stored>;
#pragma unroll 1
  for (unsigned threads = row_threads / 2; threads >= column_runs; threads /= 2) {
    const unsigned at = threadIdx.x % threads * length;
    if (threadIdx.x >= threads && threadIdx.x < 2 * threads) {
#pragma unroll
      for (unsigned k = 0; k < length; ++k) Shared::put(kind, at + k, found[k]);
    }
    __syncthreads();
    if (threadIdx.x < threads) {
#pragma unroll
      for (unsigned k = 0; k < length; ++k) join(kind, found[k], Shared::get(kind, at + k));
    }
    __syncthreads();
  }
  if (threadIdx.x < column_runs) {
#pragma unroll
    for (unsigned k = 0; k < length; ++k) Shared::put(kind, threadIdx.x * length + k, found[k]);
  }
  __syncthreads();
}

template <class Stored>
__forceinline__ __device__ void reduce_columns(const Reduction& all, const Stored* in, void* out,
                                               uint32_t* out_places) {
  constexpr unsigned length = Run<Stored>::length;
  constexpr unsigned strip = column_runs * length;
  const uint64_t width = all.kept.dims[0];
  const uint64_t strips = (width + strip - 1) / strip;
  const uint64_t tasks = all.outer * strips;
  const uint64_t chunk = blockIdx.y;
  for (uint64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    const uint64_t part = task / strips;
    const uint64_t first = (task - part * strips) * strip + threadIdx.x % column_runs * length;
    const bool has_columns = first < width;
    const unsigned columns = !has_columns             ? 1U
                             : width - first < length ? static_cast<unsigned>(width - first)
                                                      : length;
    uint64_t places[2];
    find_places(all.kept, part * width, places);
    const uint64_t begin = chunk * all.chunk_length;
    const uint64_t rest = all.length - begin;
    const uint64_t end = begin + (rest < all.chunk_length ? rest : all.chunk_length);
    Found<Stored> found[length];
#pragma unroll
    for (unsigned k = 0; k < length; ++k) found[k] = nothing<Stored>();
    fold_columns<length>(all, in + places[0] + (has_columns ? first : 0), columns, begin,
                         has_columns ? end : begin, found);
    join_columns<length>(all.kind, found);
    // One result for each of the first threads, which are neighbours.
    const uint64_t column = (task - part * strips) * strip + threadIdx.x;
    if (threadIdx.x < strip && column < width) {
      const uint64_t place = places[1] + column * all.kept.strides[1][0] + chunk;
      write(all, FoundInShared<length, Stored>::get(all.kind, threadIdx.x), place, nullptr, out,
            out_places);
    }
    __syncthreads();
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS(type, Stored)                                                        \
  extern "C" __global__ void __launch_bounds__(256)                                          \
      hiptool_reduce_rows_##type(hiptool_ops::Reduction all, const Stored* in,               \
                                 const uint32_t* earlier, void* out, uint32_t* out_places) { \
    hiptool_ops::reduce_rows(all, in, earlier, out, out_places);                             \
  }                                                                                          \
  extern "C" __global__ void __launch_bounds__(256) hiptool_reduce_columns_##type(           \
      hiptool_ops::Reduction all, const Stored* in, void* out, uint32_t* out_places) {       \
    hiptool_ops::reduce_columns(all, in, out, out_places);                                   \
  }                                                                                          \
  HIPTOOL_EXPORT(hiptool_reduce_rows_##type);                                                \
  HIPTOOL_EXPORT(hiptool_reduce_columns_##type)

HIPTOOL_KERNELS(u8, uint8_t);
HIPTOOL_KERNELS(u32, uint32_t);
HIPTOOL_KERNELS(i16, int16_t);
HIPTOOL_KERNELS(i32, int32_t);
HIPTOOL_KERNELS(i64, int64_t);
HIPTOOL_KERNELS(f16, hiptool_ops::F16);
HIPTOOL_KERNELS(bf16, hiptool_ops::Bf16);
HIPTOOL_KERNELS(f32, float);
HIPTOOL_KERNELS(f64, double);
HIPTOOL_KERNELS(f8e4m3, hiptool_ops::F8Bits);
