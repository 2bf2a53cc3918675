// SPDX-License-Identifier: MIT
// Operations that choose elements by index. An id that is the largest number of its type chooses
// nothing; others out of range choose nothing either, and the first of them is recorded.
#include <hip/hip_runtime.h>

#include "hiptool_elements.h"
#include "hiptool_faults.h"

namespace hiptool_ops {

// Of all types: larger than every u8 and u32, and what the largest i64 is.
inline __device__ uint64_t no_id() { return 0x7FFFFFFFFFFFFFFFULL; }

inline __device__ uint64_t read_id(IdType type, const void* ids, uint64_t place) {
  if (type == IdType::u8) {
    const uint8_t id = static_cast<const uint8_t*>(ids)[place];
    return id == 0xFFU ? no_id() : id;
  }
  if (type == IdType::u32) {
    const uint32_t id = static_cast<const uint32_t*>(ids)[place];
    return id == 0xFFFFFFFFU ? no_id() : id;
  }
  return static_cast<const uint64_t*>(ids)[place];
}

// True for an id in range.
inline __device__ bool is_chosen(const ChosenAxis& axis, uint64_t id, uint64_t position) {
  if (id == no_id()) return false;
  if (id < axis.size) return true;
  record_fault(axis.faults, axis.owner, position, id);
  return false;
}

// Operands: source without the chosen axis, position of the id, id, output. In a run all elements
// have the same id.
template <unsigned length, class Stored>
inline __device__ void gather_runs(const Operands<4>& all, const ChosenAxis& axis,
                                   const Stored* source, const void* ids, Stored* output) {
  each_place(all, length, [&](const uint64_t(&places)[4]) {
    Stored run[length];
    const uint64_t id = read_id(axis.id_type, ids, places[2]);
    if (is_chosen(axis, id, places[1])) {
      load_run<length>(all, 0, source, places[0] + id * axis.stride, run);
    } else {
#pragma unroll
      for (unsigned k = 0; k < length; ++k) run[k] = 0;
    }
    store_run<length>(all, 3, output, places[3], run);
  });
}

template <class Stored>
inline __device__ void gather(const Operands<4>& all, const ChosenAxis& axis, const Stored* source,
                              const void* ids, Stored* output) {
  if (all.run == 1) {
    gather_runs<1>(all, axis, source, ids, output);
  } else {
    gather_runs<Run<Stored>::length>(all, axis, source, ids, output);
  }
}

// Calls body(place in source, place in output and, by the same id, in scratch memory) along the
// axis, for ids in range. Operands: source, position of the id, id, scratch memory, output.
template <class Body>
inline __device__ void each_chosen(const uint64_t (&places)[5], const ScatterLoop& loop,
                                   const ChosenAxis& axis, const void* ids, Body body) {
#pragma unroll 1
  for (uint64_t k = 0; k < loop.length; ++k) {
    const uint64_t id = read_id(axis.id_type, ids, places[2] + k * loop.id_stride);
    if (!is_chosen(axis, id, places[1] + k * loop.position_stride)) continue;
    body(places[0] + k * loop.source_stride, places[4] + id * axis.stride,
         places[3] + id * loop.scratch_stride);
  }
}

// One thread for all elements along the axis, so that those with the same id follow their order.
template <class Stored>
inline __device__ void scatter(const Operands<5>& all, const ScatterLoop& loop,
                               const ChosenAxis& axis, const Stored* source, const void* ids,
                               Stored* output) {
  each_place(all, 1, [&](const uint64_t(&places)[5]) {
    each_chosen(places, loop, axis, ids,
                [&](uint64_t from, uint64_t to, uint64_t) { output[to] = source[from]; });
  });
}

template <class Stored>
struct IsWhole {
  enum : bool { value = static_cast<Stored>(1) / 2 == 0 };
};

// Whole numbers, f32 and f64 are added in place.
template <class Stored>
inline __device__ void scatter_add(const Operands<5>& all, const ScatterLoop& loop,
                                   const ChosenAxis& axis, const Stored* source, const void* ids,
                                   Stored* output) {
  each_place(all, 1, [&](const uint64_t(&places)[5]) {
    each_chosen(places, loop, axis, ids, [&](uint64_t from, uint64_t to, uint64_t) {
      if constexpr (IsWhole<Stored>::value) {
        output[to] = static_cast<Stored>(static_cast<uint64_t>(output[to]) +
                                         static_cast<uint64_t>(source[from]));
      } else {
        output[to] = Element<Stored>::narrow(output[to] + source[from]);
      }
    });
  });
}

// Of the small types the sums are f32 in scratch memory until all has been added.
template <class Stored>
inline __device__ void scatter_add_small(const Operands<5>& all, const ScatterLoop& loop,
                                         const ChosenAxis& axis, const Stored* source,
                                         const void* ids, float* sums, Stored* output) {
  each_place(all, 1, [&](const uint64_t(&places)[5]) {
    each_chosen(places, loop, axis, ids, [&](uint64_t, uint64_t to, uint64_t sum) {
      sums[sum] = Element<Stored>::widen(output[to]);
    });
    each_chosen(places, loop, axis, ids, [&](uint64_t from, uint64_t, uint64_t sum) {
      sums[sum] += Element<Stored>::widen(source[from]);
    });
    each_chosen(places, loop, axis, ids, [&](uint64_t, uint64_t to, uint64_t sum) {
      output[to] = Element<Stored>::narrow(sums[sum]);
    });
  });
}

// Operands: divisor, position.
template <class Stored>
inline __device__ void check_divisors(const Operands<2>& all, const Stored* divisors,
                                      FaultRecord* faults, uint64_t owner) {
  each_place(all, 1, [&](const uint64_t(&places)[2]) {
    if (divisors[places[0]] == 0) record_fault(faults, owner, places[1], 0);
  });
}

}  // namespace hiptool_ops

#define HIPTOOL_MOVES(size, Stored)                                                              \
  extern "C" __global__ void __launch_bounds__(256)                                              \
      hiptool_gather_##size(hiptool_ops::Operands<4> all, hiptool_ops::ChosenAxis axis,          \
                            const Stored* source, const void* ids, Stored* output) {             \
    hiptool_ops::gather(all, axis, source, ids, output);                                         \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) hiptool_scatter_##size(                      \
      hiptool_ops::Operands<5> all, hiptool_ops::ScatterLoop loop, hiptool_ops::ChosenAxis axis, \
      const Stored* source, const void* ids, Stored* output) {                                   \
    hiptool_ops::scatter(all, loop, axis, source, ids, output);                                  \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256)                                              \
      hiptool_check_divisors_##size(hiptool_ops::Operands<2> all, const Stored* divisors,        \
                                    hiptool_ops::FaultRecord* faults, uint64_t owner) {          \
    hiptool_ops::check_divisors(all, divisors, faults, owner);                                   \
  }                                                                                              \
  HIPTOOL_EXPORT(hiptool_gather_##size);                                                         \
  HIPTOOL_EXPORT(hiptool_scatter_##size);                                                        \
  HIPTOOL_EXPORT(hiptool_check_divisors_##size)

#define HIPTOOL_ADD(type, Stored)                                                                \
  extern "C" __global__ void __launch_bounds__(256) hiptool_scatter_add_##type(                  \
      hiptool_ops::Operands<5> all, hiptool_ops::ScatterLoop loop, hiptool_ops::ChosenAxis axis, \
      const Stored* source, const void* ids, Stored* output) {                                   \
    hiptool_ops::scatter_add(all, loop, axis, source, ids, output);                              \
  }                                                                                              \
  HIPTOOL_EXPORT(hiptool_scatter_add_##type)

#define HIPTOOL_ADD_SMALL(type, Stored)                                                          \
  extern "C" __global__ void __launch_bounds__(256) hiptool_scatter_add_##type(                  \
      hiptool_ops::Operands<5> all, hiptool_ops::ScatterLoop loop, hiptool_ops::ChosenAxis axis, \
      const Stored* source, const void* ids, float* sums, Stored* output) {                      \
    hiptool_ops::scatter_add_small(all, loop, axis, source, ids, sums, output);                  \
  }                                                                                              \
  HIPTOOL_EXPORT(hiptool_scatter_add_##type)

HIPTOOL_MOVES(1, uint8_t);
HIPTOOL_MOVES(2, uint16_t);
HIPTOOL_MOVES(4, uint32_t);
HIPTOOL_MOVES(8, uint64_t);

// Whole numbers wrap, so their signs do not matter.
HIPTOOL_ADD(1, uint8_t);
HIPTOOL_ADD(2, uint16_t);
HIPTOOL_ADD(4, uint32_t);
HIPTOOL_ADD(8, uint64_t);
HIPTOOL_ADD(f32, float);
HIPTOOL_ADD(f64, double);
HIPTOOL_ADD_SMALL(f16, hiptool_ops::F16);
HIPTOOL_ADD_SMALL(bf16, hiptool_ops::Bf16);
HIPTOOL_ADD_SMALL(f8e4m3, hiptool_ops::F8);
