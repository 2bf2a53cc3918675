// SPDX-License-Identifier: MIT
// Reductions: sums, least and largest numbers, and the places of these. One kernel for each type,
// one of the three, and direction of access: along packed rows, or along columns, where
// neighbouring threads read neighbouring results' elements. (They differ in registers and
// instructions: places in the same kernel cost column sums of halves more than half of their rate.)
//
// The order of a sum follows from the number of elements and their type alone. Up to 4096 elements
// are one chunk; more are cut into chunks of the least multiple of 256 that is at least 1024 and
// gives at most 4096 chunks (src/ops/reduce.cpp). Elements of a chunk go in runs (16 bytes of them,
// at most 8) to 32 lanes in turn. Each lane adds its elements in order, starting from 0; the lanes
// are joined by the tree of join_32. The chunks' sums, in f32 or f64 for floating point, are then
// summed by the same rule, and the result is rounded once. A sum is never -0.
#include <hip/hip_runtime.h>

#include "hiptool_reduce.h"

namespace hiptool_ops {

// An element, number `place` of those that become one.
template <ReduceKind kind, class Stored>
__forceinline__ __device__ void take_one(bool is_reversed, Stored stored, uint64_t place,
                                         Found<kind, Stored>& found) {
  if constexpr (kind == ReduceKind::sum) {
    found.sum = found.sum + Reduced<Stored>::operand(stored);
  } else if constexpr (kind == ReduceKind::least) {
    widen(found, extreme_key(stored));
  } else {
    const auto key = place_key(is_reversed, stored);
    const bool wins = key < found.key || found.place == ~0U;
    found.place = wins ? static_cast<uint32_t>(place) : found.place;
    found.key = wins ? key : found.key;
  }
}

// Neighbouring elements, the first of which is number `first`.
template <ReduceKind kind, unsigned length, class Stored>
__forceinline__ __device__ void take(bool is_reversed, const Stored (&run)[length], uint64_t first,
                                     Found<kind, Stored>& found) {
#pragma unroll
  for (unsigned k = 0; k < length; ++k) take_one(is_reversed, run[k], first + k, found);
}

__forceinline__ __device__ uint64_t reduced_place(const Reduction& all, uint64_t index) {
  if (all.reduced.axes == 1) return index * all.reduced.strides[0][0];
  uint64_t places[1];
  find_places(all.reduced, index, places);
  return places[0];
}

// Elements from `at` on along one axis; those beyond the end change nothing: 0 for sums, else the
// first again.
template <ReduceKind kind, unsigned length, class Stored>
__forceinline__ __device__ void load_apart(const Stored* row, uint64_t stride, uint64_t at,
                                           uint64_t end, Stored* to) {
#pragma unroll
  for (unsigned k = 0; k < length; ++k) to[k] = row[(at + k < end ? at + k : at) * stride];
  if (kind == ReduceKind::sum && at + length > end) {
#pragma unroll
    for (unsigned k = 0; k < length; ++k) {
      if (at + k >= end) to[k] = Stored{};
    }
  }
}

// Runs whose loads are in flight, as words: elements of less than 4 bytes would take a register
// each. Those that begin beyond the end are zeros.
template <unsigned parts, class Stored>
struct Runs {
  enum : unsigned {
    length = Run<Stored>::length,
    bytes = length * sizeof(Stored),
    words = bytes / sizeof(uint32_t)
  };
  uint32_t at[parts][words];

  __forceinline__ __device__ void load(unsigned part, bool is_inside, const Stored* from) {
#pragma unroll
    for (unsigned k = 0; k < words; ++k) at[part][k] = 0;
    if (!is_inside) return;
#if defined(__clang__) && defined(__NVPTX__)
    if constexpr (words == 4) {
      // LLVM does not join loads whose addresses are computed from each other.
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(at[part][0]), "=r"(at[part][1]), "=r"(at[part][2]), "=r"(at[part][3])
                   : "l"(from)
                   : "memory");
      return;
    }
#endif
    load_piece<words>(reinterpret_cast<const uint32_t*>(from), at[part]);
  }
  __forceinline__ __device__ void get(unsigned part, Stored (&run)[length]) const {
    hiptool_device::copy_bytes<bytes>(run, at[part]);
  }
};

// A row in one piece: the next loads are under way while elements are taken.
template <ReduceKind kind, class Stored>
__forceinline__ __device__ void fold_piece(bool is_reversed, const Stored* row, uint64_t first,
                                           uint64_t step, uint64_t end,
                                           Found<kind, Stored>& found) {
  constexpr unsigned ahead = kind == ReduceKind::place_of_least ? 2 : 4;
  using Ahead = Runs<ahead, Stored>;
  const auto load = [&](uint64_t from, Ahead& runs) {
#pragma unroll
    for (unsigned u = 0; u < ahead; ++u) {
      const uint64_t at = from + u * step;
      runs.load(u, at < end, row + at);
    }
  };
  Ahead runs;
  load(first, runs);
  for (uint64_t i = first; i < end;) {
    Ahead others;
    load(i + ahead * step, others);
#pragma unroll
    for (unsigned u = 0; u < ahead; ++u) {
      if (kind != ReduceKind::sum && i + u * step >= end) break;
      if constexpr (kind == ReduceKind::least && sizeof(Stored) == 2) {
#pragma unroll
        for (unsigned k = 0; k < Ahead::words; ++k) {
          const uint32_t pair = ordered_pair<Stored>(runs.at[u][k]);
          widen(found, static_cast<int32_t>(pair << 16));
          widen(found, static_cast<int32_t>(pair));
        }
      } else {
        Stored run[Ahead::length];
        runs.get(u, run);
        take(is_reversed, run, i + u * step, found);
      }
    }
    runs = others;
    i += ahead * step;
  }
}

template <ReduceKind kind, class Stored>
__forceinline__ __device__ void fold_row(const Reduction& all, const Stored* row, uint64_t begin,
                                         uint64_t end, Found<kind, Stored>& found) {
  constexpr unsigned length = Run<Stored>::length;
  const bool is_reversed = all.is_reversed != 0;
  const unsigned group = 1U << all.group_bits;
  const uint64_t step = group * length;
  const bool is_packed = all.reduced.packed != 0;
  uint64_t i = begin + (threadIdx.x & (group - 1)) * length;
  if (is_packed && all.reduced.axes == 1) {
    fold_piece(is_reversed, row, i, step, end, found);
    return;
  }
  if (is_packed || all.reduced.axes == 1) {
#pragma unroll 1
    for (; i < end; i += step) {
      Stored run[length];
      if (is_packed) {
        load_piece<length>(row + reduced_place(all, i), run);
      } else {
        load_apart<kind, length>(row, all.reduced.strides[0][0], i, end, run);
      }
      take(is_reversed, run, i, found);
    }
    return;
  }
  for (; i < end; i += step) {
#pragma unroll 1
    for (uint64_t at = i; at < i + length && at < end; ++at) {
      const Stored one[1] = {row[reduced_place(all, at)]};
      take(is_reversed, one, at, found);
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

// `earlier` has the places of the input's elements, where these are results of chunks.
template <ReduceKind kind, class Stored>
__forceinline__ __device__ void write(const Reduction& all, const Found<kind, Stored>& found,
                                      uint64_t place, const uint32_t* earlier, void* out,
                                      uint32_t* out_places) {
  const bool is_reversed = all.is_reversed != 0;
  using Sum = typename Reduced<Stored>::Sum;
  if constexpr (kind == ReduceKind::least) {
    static_cast<Stored*>(out)[place] = extreme_of<Stored>(is_reversed, found);
  } else if constexpr (kind == ReduceKind::place_of_least) {
    out_places[place] = earlier == nullptr ? found.place : earlier[found.place];
    if (out == nullptr) return;
    static_cast<Stored*>(out)[place] = stored_of_place_key<Stored>(is_reversed, found.key);
  } else if constexpr (Reduced<Stored>::is_float && sizeof(Sum) == 4) {
    write_f32(all.result, out, place, found.sum);
  } else if constexpr (Reduced<Stored>::is_float) {
    static_cast<double*>(out)[place] = Element<double>::narrow(found.sum);
  } else {
    static_cast<Stored*>(out)[place] = static_cast<Stored>(found.sum);
  }
}

template <class Stored>
__forceinline__ __device__ Found<ReduceKind::sum, Stored> exchange(
    const Found<ReduceKind::sum, Stored>& found, int distance) {
  return {hiptool_device::exchange(found.sum, distance)};
}
template <class Stored>
__forceinline__ __device__ Found<ReduceKind::least, Stored> exchange(
    const Found<ReduceKind::least, Stored>& found, int distance) {
  return {hiptool_device::exchange(found.least, distance),
          hiptool_device::exchange(found.largest, distance)};
}
template <class Stored>
__forceinline__ __device__ Found<ReduceKind::place_of_least, Stored> exchange(
    const Found<ReduceKind::place_of_least, Stored>& found, int distance) {
  return {hiptool_device::exchange(found.key, distance),
          hiptool_device::exchange(found.place, distance)};
}

template <ReduceKind kind, class Stored>
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
    Found<kind, Stored> found = nothing<kind, Stored>();
    fold_row(all, in + places[0], begin, has_row ? end : begin, found);
#pragma unroll 1
    for (int distance = 1 << all.group_bits >> 1; distance > 0; distance /= 2) {
      join(found, exchange(found, distance));
    }
    if (has_row && (threadIdx.x & ((1U << all.group_bits) - 1)) == 0) {
      write(all, found, places[1] + chunk, earlier == nullptr ? nullptr : earlier + places[0], out,
            out_places);
    }
  }
}

// Columns: a thread takes runs of neighbouring results. Their elements go to 32 lanes, some of
// which are at work at the same time, by one thread each; the others follow. So a warp reads far
// along one row, as memory does best.

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

template <unsigned length, ReduceKind kind, class Stored>
__forceinline__ __device__ void take_columns(bool is_reversed, const Stored* row, uint64_t place,
                                             Found<kind, Stored>* found) {
#pragma unroll
  for (unsigned k = 0; k < length; ++k) take_one(is_reversed, row[k], place, found[k]);
}

// Rows that are a fixed distance apart, and whose runs begin at multiples of their size.
template <unsigned length, ReduceKind kind, class Stored>
__forceinline__ __device__ void fold_regular(bool is_reversed, const Stored* from, uint64_t stride,
                                             uint64_t first, uint64_t end,
                                             Found<kind, Stored>* found) {
  // Rows whose loads are in flight.
  constexpr unsigned ahead = kind == ReduceKind::sum ? 8 : 4;
  constexpr unsigned rows_of_run = length < ahead ? length : ahead;
  constexpr unsigned runs = ahead / rows_of_run;
  constexpr uint64_t between = column_lanes * length;
  for (uint64_t run = first; run < end; run += runs * between) {
#pragma unroll 1
    for (uint64_t row = run; row < run + length && row < end; row += rows_of_run) {
      const uint64_t left = end - row;
      const Stored* at = from + row * stride;
      Runs<ahead, Stored> rows;
#pragma unroll
      for (unsigned k = 0; k < ahead; ++k) {
        const uint64_t after = k / rows_of_run * between + k % rows_of_run;
        rows.load(k, after < left, at);
        at += (k % rows_of_run + 1 < rows_of_run ? 1 : between - rows_of_run + 1) * stride;
      }
#pragma unroll
      for (unsigned k = 0; k < ahead; ++k) {
        const uint64_t after = k / rows_of_run * between + k % rows_of_run;
        if (kind != ReduceKind::sum && after >= left) continue;
        if constexpr (kind == ReduceKind::least && sizeof(Stored) == 2) {
#pragma unroll
          for (unsigned word = 0; word < length / 2; ++word) {
            const uint32_t pair = ordered_pair<Stored>(rows.at[k][word]);
            widen(found[2 * word], static_cast<int32_t>(pair << 16));
            widen(found[2 * word + 1], static_cast<int32_t>(pair));
          }
        } else {
          Stored values[length];
          rows.get(k, values);
          take_columns<length>(is_reversed, values, row + after, found);
        }
      }
    }
  }
}

template <unsigned length, ReduceKind kind, class Stored>
__forceinline__ __device__ void fold_columns(const Reduction& all, const Stored* from,
                                             unsigned columns, uint64_t first, uint64_t end,
                                             Found<kind, Stored>* found) {
  const bool is_reversed = all.is_reversed != 0;
  const bool is_packed = (all.kept.packed & 1U) != 0;
  if (is_packed && all.reduced.axes == 1) {
    fold_regular<length>(is_reversed, from, all.reduced.strides[0][0], first, end, found);
    return;
  }
  for (uint64_t run = first; run < end; run += column_lanes * length) {
#pragma unroll 1
    for (uint64_t row = run; row < run + length && row < end; ++row) {
      Stored values[length];
      load_columns<length>(is_packed, from + reduced_place(all, row), columns, values);
      take_columns<length>(is_reversed, values, row, found);
    }
  }
}

// Shared memory for what lanes have found: `things` of each kind.
template <ReduceKind kind, class Stored>
struct FoundInShared {
  using Sum = typename Reduced<Stored>::Sum;
  using Key = typename Reduced<Stored>::Key;
  unsigned things;

  template <class Value>
  static __device__ Value* values() {
    return reinterpret_cast<Value*>(hiptool_device::dynamic_shared());
  }
  __device__ void put(unsigned at, const Found<kind, Stored>& found) const {
    if constexpr (kind == ReduceKind::sum) {
      values<Sum>()[at] = found.sum;
    } else if constexpr (kind == ReduceKind::least) {
      values<Key>()[at] = found.least;
      values<Key>()[things + at] = found.largest;
    } else {
      values<Key>()[at] = found.key;
      reinterpret_cast<uint32_t*>(values<Key>() + things)[at] = found.place;
    }
  }
  __device__ Found<kind, Stored> get(unsigned at) const {
    if constexpr (kind == ReduceKind::sum) {
      return {values<Sum>()[at]};
    } else if constexpr (kind == ReduceKind::least) {
      return {values<Key>()[at], values<Key>()[things + at]};
    } else {
      return {values<Key>()[at], reinterpret_cast<uint32_t*>(values<Key>() + things)[at]};
    }
  }
};

// What every lane finds of `strip` neighbouring results, into shared memory.
template <ReduceKind kind, class Stored>
__forceinline__ __device__ void fold_strip(const Reduction& all, const Stored* from, uint64_t width,
                                           uint64_t begin, uint64_t end,
                                           FoundInShared<kind, Stored> shared) {
  constexpr unsigned length = Run<Stored>::length;
  const unsigned runs = 1U << all.group_bits;
  const unsigned first = (threadIdx.x & (runs - 1)) * length;
  const bool has_columns = first < width;
  const unsigned columns = !has_columns             ? 1U
                           : width - first < length ? static_cast<unsigned>(width - first)
                                                    : length;
#pragma unroll 1
  for (unsigned lane = threadIdx.x >> all.group_bits; lane < column_lanes;
       lane += row_threads >> all.group_bits) {
    Found<kind, Stored> found[length];
#pragma unroll
    for (unsigned k = 0; k < length; ++k) found[k] = nothing<kind, Stored>();
    fold_columns<length>(all, from + (has_columns ? first : 0), columns, begin + lane * length,
                         has_columns ? end : begin, found);
#pragma unroll
    for (unsigned k = 0; k < length; ++k) shared.put(lane * runs * length + first + k, found[k]);
  }
  __syncthreads();
}

// The tree of join_32 over the lanes.
template <ReduceKind kind, class Stored>
__forceinline__ __device__ void join_lanes(unsigned strip, FoundInShared<kind, Stored> shared) {
#pragma unroll 1
  for (unsigned lanes = column_lanes / 2; lanes > 0; lanes /= 2) {
#pragma unroll 1
    for (unsigned at = threadIdx.x; at < lanes * strip; at += row_threads) {
      Found<kind, Stored> found = shared.get(at);
      join(found, shared.get(at + lanes * strip));
      shared.put(at, found);
    }
    __syncthreads();
  }
}

template <ReduceKind kind, class Stored>
__forceinline__ __device__ void reduce_columns(const Reduction& all, const Stored* in, void* out,
                                               uint32_t* out_places) {
  const unsigned strip = Run<Stored>::length << all.group_bits;
  const FoundInShared<kind, Stored> shared = {column_lanes * strip};
  const uint64_t width = all.kept.dims[0];
  const uint64_t strips = (width + strip - 1) / strip;
  const uint64_t tasks = all.outer * strips;
  const uint64_t chunk = blockIdx.y;
  for (uint64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    const uint64_t part = task / strips;
    const uint64_t first = (task - part * strips) * strip;
    uint64_t places[2];
    find_places(all.kept, part * width, places);
    const uint64_t begin = chunk * all.chunk_length;
    const uint64_t rest = all.length - begin;
    const uint64_t end = begin + (rest < all.chunk_length ? rest : all.chunk_length);
    fold_strip(all, in + places[0] + first, width - first, begin, end, shared);
    join_lanes(strip, shared);
    // One result for each of the first threads, which are neighbours.
    const uint64_t column = first + threadIdx.x;
    if (threadIdx.x < strip && column < width) {
      const uint64_t place = places[1] + column * all.kept.strides[1][0] + chunk;
      write(all, shared.get(threadIdx.x), place, nullptr, out, out_places);
    }
    __syncthreads();
  }
}

}  // namespace hiptool_ops

#define HIPTOOL_KERNELS_OF(what, kind, type, Stored)                                            \
  extern "C" __global__ void __launch_bounds__(256)                                             \
      hiptool_##what##_rows_##type(hiptool_ops::Reduction all, const Stored* in,                \
                                   const uint32_t* earlier, void* out, uint32_t* out_places) {  \
    hiptool_ops::reduce_rows<hiptool_ops::ReduceKind::kind>(all, in, earlier, out, out_places); \
  }                                                                                             \
  extern "C" __global__ void __launch_bounds__(256) hiptool_##what##_columns_##type(            \
      hiptool_ops::Reduction all, const Stored* in, void* out, uint32_t* out_places) {          \
    hiptool_ops::reduce_columns<hiptool_ops::ReduceKind::kind>(all, in, out, out_places);       \
  }                                                                                             \
  HIPTOOL_EXPORT(hiptool_##what##_rows_##type);                                                 \
  HIPTOOL_EXPORT(hiptool_##what##_columns_##type)

#define HIPTOOL_KERNELS(type, Stored)               \
  HIPTOOL_KERNELS_OF(sum, sum, type, Stored);       \
  HIPTOOL_KERNELS_OF(extreme, least, type, Stored); \
  HIPTOOL_KERNELS_OF(place, place_of_least, type, Stored)

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
